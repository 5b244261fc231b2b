#include "orchestrator/devices/session_registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class SessionRegistryTest : public ::testing::Test {
   protected:
    SessionRegistryTest() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
    ~SessionRegistryTest() override { ::unsetenv("XDG_RUNTIME_DIR"); }

    static SessionReservations reservations(const std::string& study) {
        return {study,
                ::getpid(),
                {{"host", 5, 100, 10, 20, 4, 1.5, 2, std::nullopt}, {"GPU-1111", 50, 100, 10, 20, 40, 0, 2, 90}}};
    }
    std::filesystem::path own_file(const std::string& ending) {
        return registry_folder() / (std::to_string(::getpid()) + ending);
    }
    static std::size_t files() {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(registry_folder()),
                                                      std::filesystem::directory_iterator()));
    }
    /// Leaves the files of a session that ended without removing them.
    static void dead_session() {
        const pid_t child = ::fork();
        if (child == 0) {
            auto registry = SessionRegistry::open();
            ::_exit(registry && registry->publish(reservations("dead")) ? 0 : 1);
        }
        int status = 1;
        ::waitpid(child, &status, 0);
        ASSERT_EQ(status, 0);
    }
    testing::TemporaryFolder folder_;
};

TEST_F(SessionRegistryTest, ShowsASessionWhileItLives) {
    {
        auto registry = SessionRegistry::open();
        ASSERT_TRUE(registry) << registry.error().message;
        EXPECT_THAT(read_sessions(), IsEmpty()) << "nothing is published yet";
        SessionReservations published = reservations("phase1");
        published.waits = "trial 7 needs 3 GiB";
        published.ends = {{7, 0.25}, {9, -3.0}};
        ASSERT_TRUE(registry->publish(published));
        const auto sessions = read_sessions();
        ASSERT_THAT(sessions, SizeIs(1));
        EXPECT_EQ(sessions[0].study, "phase1");
        EXPECT_EQ(sessions[0].waits, "trial 7 needs 3 GiB");
        EXPECT_EQ(sessions[0].ends, published.ends);
        EXPECT_EQ(sessions[0].pid, ::getpid());
        ASSERT_THAT(sessions[0].devices, SizeIs(2));
        const DeviceReservation& host = sessions[0].devices[0];
        EXPECT_EQ(host.device, "host");
        EXPECT_EQ(host.cores, 1.5);
        EXPECT_FALSE(host.limit);
        const DeviceReservation& gpu = sessions[0].devices[1];
        EXPECT_EQ(gpu.reserved, 50);
        EXPECT_EQ(gpu.capacity, 100);
        EXPECT_EQ(gpu.reserve, 10);
        EXPECT_EQ(gpu.others, 20);
        EXPECT_EQ(gpu.used, 40);
        EXPECT_EQ(gpu.trials, 2);
        EXPECT_EQ(gpu.limit, 90);
    }
    EXPECT_THAT(read_sessions(), IsEmpty());
    EXPECT_EQ(files(), 0u);
}

TEST_F(SessionRegistryTest, ReadingDoesNotCreateTheFolder) {
    EXPECT_THAT(read_sessions(), IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(registry_folder()));
}

TEST_F(SessionRegistryTest, NewReservationsReplaceTheOldOnes) {
    auto registry = SessionRegistry::open();
    ASSERT_TRUE(registry->publish(reservations("phase1")));
    ASSERT_TRUE(registry->publish({"phase1", ::getpid(), {}}));
    const auto sessions = read_sessions();
    ASSERT_THAT(sessions, SizeIs(1));
    EXPECT_THAT(sessions[0].devices, IsEmpty());
}

TEST_F(SessionRegistryTest, SeveralSessionsOfOneProcessHaveFilesOfTheirOwn) {
    auto first = SessionRegistry::open(), second = SessionRegistry::open();
    ASSERT_TRUE(second) << second.error().message;
    ASSERT_TRUE(first->publish(reservations("a")));
    ASSERT_TRUE(second->publish(reservations("b")));
    EXPECT_THAT(read_sessions(), SizeIs(2));
    for (int time = 0; time < 2; ++time) {
        const auto others = first->others();
        ASSERT_THAT(others, SizeIs(1)) << "processes of other containers may have the same pid";
        EXPECT_EQ(others[0].study, "b");
    }
}

TEST_F(SessionRegistryTest, OneSessionAtATimeHoldsTheLockAndOthersDoNotWaitLong) {
    auto one = SessionRegistry::open();
    auto other = SessionRegistry::open();
    {
        const Descriptor lock = one->lock();
        ASSERT_TRUE(lock);
        EXPECT_FALSE(other->lock()) << "the holder may be suspended, so others continue without the lock";
    }
    EXPECT_TRUE(other->lock());
    EXPECT_THAT(read_sessions(), IsEmpty()) << "a lock alone is not a session";
}

TEST_F(SessionRegistryTest, ADeadSessionIsNotShownAndItsFilesAreRemoved) {
    dead_session();
    EXPECT_EQ(files(), 2u);
    EXPECT_THAT(read_sessions(), IsEmpty());
    EXPECT_EQ(files(), 0u);
}

TEST_F(SessionRegistryTest, AFolderWithOpenPermissionsIsClosedToOthers) {
    std::filesystem::create_directories(registry_folder());
    std::filesystem::permissions(registry_folder(), std::filesystem::perms::all);
    auto registry = SessionRegistry::open();
    ASSERT_TRUE(registry->publish(reservations("phase1")));
    struct stat info {};
    ASSERT_EQ(::stat(registry_folder().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    ASSERT_EQ(::stat(own_file(".json").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SessionRegistryTest, AFolderThatIsALinkIsRefused) {
    std::filesystem::create_directories(folder_ / "elsewhere");
    std::filesystem::create_directory_symlink(folder_ / "elsewhere", registry_folder());
    EXPECT_FALSE(SessionRegistry::open());
    EXPECT_THAT(read_sessions(), IsEmpty());
}

TEST_F(SessionRegistryTest, ARuntimeFolderOfAnotherUserIsNotUsed) {
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(folder_.path().c_str(), 12345, 12345), 0);
    } else {
        ::setenv("XDG_RUNTIME_DIR", "/", 1);
    }
    EXPECT_EQ(registry_folder(), "/tmp/hpo-" + std::to_string(::geteuid()));
}

TEST_F(SessionRegistryTest, AFolderOfAnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    std::filesystem::create_directories(registry_folder());
    ASSERT_EQ(::chown(registry_folder().c_str(), 12345, 12345), 0);
    const auto registry = SessionRegistry::open();
    ASSERT_FALSE(registry);
    EXPECT_THAT(registry.error().message, ::testing::HasSubstr("user"));
    EXPECT_THAT(read_sessions(), IsEmpty());
}

TEST_F(SessionRegistryTest, ALinkInPlaceOfAFileIsNotFollowed) {
    auto registry = SessionRegistry::open();
    std::ofstream(folder_ / "precious") << "precious";
    std::filesystem::create_symlink(folder_ / "precious", own_file(".new"));
    EXPECT_FALSE(registry->publish(reservations("phase1")));
    std::filesystem::create_symlink(folder_ / "precious", own_file(".json"));
    EXPECT_THAT(read_sessions(), IsEmpty());
    std::string text;
    std::getline(std::ifstream(folder_ / "precious") >> std::ws, text);
    EXPECT_EQ(text, "precious");
}

TEST_F(SessionRegistryTest, MalformedFilesAreIgnored) {
    auto registry = SessionRegistry::open();
    ASSERT_TRUE(registry->publish(reservations("phase1")));
    for (const char* text :
         {"", "{", "[]", "null", R"({"study": "x"})", R"({"study": 1, "pid": 1, "devices": []})",
          R"({"study": "x", "pid": -1, "devices": []})", R"({"study": "x", "pid": 1e300, "devices": []})",
          R"({"study": "x", "pid": 18446744073709551615, "devices": []})",
          R"({"study": "x", "pid": 1, "devices": [{"device": "host"}]})",
          R"({"study": "x", "pid": 1, "devices": 7})"}) {
        std::ofstream(own_file(".json"), std::ios::trunc) << text;
        EXPECT_THAT(read_sessions(), IsEmpty()) << text;
    }
    std::ofstream(own_file(".json"), std::ios::trunc) << std::string(1 << 20, '[');
    EXPECT_THAT(read_sessions(), IsEmpty());
}

TEST_F(SessionRegistryTest, APipeInPlaceOfAFileDoesNotBlock) {
    auto registry = SessionRegistry::open();
    ASSERT_EQ(::mkfifo(own_file(".json").c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo((registry_folder() / "7.lock").c_str(), 0600), 0);
    EXPECT_THAT(read_sessions(), IsEmpty());
    std::filesystem::remove(registry_folder() / "7.lock");
}

TEST(HasGrown, IfMoreIsReservedOnADeviceOrTheDevicesAreOthers) {
    const std::vector<DeviceReservation> before{{.device = "host", .reserved = 10}, {.device = "GPU-1", .reserved = 5}};
    auto now = before;
    EXPECT_FALSE(has_grown(now, before));
    now[0].reserved = 3;
    EXPECT_FALSE(has_grown(now, before));
    now[1].reserved = 6;
    EXPECT_TRUE(has_grown(now, before));
    EXPECT_TRUE(has_grown(before, {}));
    now = before;
    now[0].cores = 2;
    EXPECT_TRUE(has_grown(now, before));
    EXPECT_FALSE(has_grown(before, now));
    now = before;
    now[1].device = "GPU-2";
    EXPECT_TRUE(has_grown(now, before));
}

}  // namespace
}  // namespace hpo
