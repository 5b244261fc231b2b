#include "orchestrator/store/study_folder.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "orchestrator/store/holder_lock.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

StudyFolder make(const testing::TemporaryFolder& runs, const std::string& name) {
    const StudyFolder folder{runs / name};
    if (auto made = make_study_folder(folder); !made) throw std::runtime_error(made.error().message);
    return folder;
}

TEST(StudyFolder, KnowsWhereEverythingLies) {
    const StudyFolder folder{"runs/phase1"};
    EXPECT_EQ(folder.name(), "phase1");
    EXPECT_EQ(folder.database(), "runs/phase1/study.db");
    EXPECT_EQ(folder.trial_log(7), "runs/phase1/logs/trial-0007.log");
    EXPECT_EQ(folder.trial_log(12345), "runs/phase1/logs/trial-12345.log");
    EXPECT_EQ(folder.checkpoints(7), "runs/phase1/checkpoints/trial-0007");
}

TEST(StudyFolder, NamesThatCouldLeaveTheFolderOrReadAsOptionsAreNoNames) {
    for (const char* name : {"phase1", "A.b_c-9", "x"}) EXPECT_TRUE(is_study_name(name)) << name;
    for (const char* name : {"", ".", "..", ".hidden", "a/b", "a b", "größe", "a\n"})
        EXPECT_FALSE(is_study_name(name)) << name;
    for (const char* option : {"-", "-x", "--help"}) EXPECT_FALSE(is_study_name(option)) << option;
    EXPECT_FALSE(is_study_name(std::string(65, 'a')));
    EXPECT_TRUE(is_study_name(std::string(64, 'a')));
}

TEST(StudyFolder, StudiesAreListedWithTheLastChangedFirst) {
    testing::TemporaryFolder runs;
    const auto now = fs::file_time_type::clock::now();
    int age = 0;
    for (const char* name : {"new", "middle", "old"}) {
        const auto folder = make(runs, name);
        std::ofstream(folder.database()) << "x";
        fs::last_write_time(folder.database(), now - std::chrono::hours(age++));
    }
    make(runs, "without-a-database");
    std::vector<std::string> names;
    for (const auto& study : list_studies(runs.path())) names.push_back(study.name());
    EXPECT_THAT(names, ElementsAre("new", "middle", "old"));
    EXPECT_TRUE(list_studies(runs / "nowhere").empty());
}

TEST(StudyFolder, AFolderThatCannotBeMadeIsAnErrorWithTheReason) {
    testing::TemporaryFolder runs;
    std::ofstream(runs / "file") << "x";
    const auto made = make_study_folder({runs / "file/study"});
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("Not a directory"));
}

TEST(HolderLock, TheSecondIsRefusedNamingTheFirst) {
    testing::TemporaryFolder runs;
    const auto folder = make(runs, "s");
    EXPECT_EQ(holder_of(folder), std::nullopt);
    auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock) << lock.error().message;
    ASSERT_TRUE(lock->publish("/tmp/control"));
    const auto second = HolderLock::take(folder);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(::getpid())));
    const auto holder = holder_of(folder);
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->pid, ::getpid());
    EXPECT_EQ(holder->socket, "/tmp/control");
}

TEST(HolderLock, AFileWithoutALockIsNoHolder) {
    testing::TemporaryFolder runs;
    const auto folder = make(runs, "s");
    { ASSERT_TRUE(HolderLock::take(folder)); }
    EXPECT_TRUE(fs::exists(folder.lock()));
    EXPECT_EQ(holder_of(folder), std::nullopt);
    EXPECT_TRUE(HolderLock::take(folder));
}

TEST(HolderLock, GarbageInTheFileOfALivingHolderIsReportedAsUnknown) {
    testing::TemporaryFolder runs;
    const auto folder = make(runs, "s");
    auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    std::ofstream(folder.lock(), std::ios::trunc) << "\x01{";
    const auto holder = holder_of(folder);
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->pid, 0);
}

TEST(HolderLock, WaitsForAProcessThatAKilledHolderWasAboutToStart) {
    testing::TemporaryFolder runs;
    const auto folder = make(runs, "s");
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
        auto lock = HolderLock::take(folder);
        if (::fork() == 0) {  // the child has the lock's file, since it executes no program
            ::poll(nullptr, 0, 500);
            ::_exit(0);
        }
        if (::write(ready[1], lock ? "y" : "n", 1) != 1) ::_exit(9);
        ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ASSERT_EQ(byte, 'y');
    ::kill(holder, SIGKILL);
    ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
    const auto lock = HolderLock::take(folder);
    EXPECT_TRUE(lock) << lock.error().message;
    for (const int end : ready) ::close(end);
}

TEST(HolderLock, OfManyProcessesAtOnceOneWinsAndTheKernelFreesTheLockOfAKilledOne) {
    testing::TemporaryFolder runs;
    const auto folder = make(runs, "s");
    for (int round = 0; round < 5; ++round) {
        int start[2], results[2];
        ASSERT_EQ(::pipe(start), 0);
        ASSERT_EQ(::pipe(results), 0);
        std::vector<pid_t> children;
        for (int i = 0; i < 24; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::close(start[1]);
                char byte = 0;
                if (::read(start[0], &byte, 1) != 0) ::_exit(9);  // all start when the pipe closes
                auto lock = HolderLock::take(folder);
                byte = lock ? 'w' : lock.error().message.find("process ") != std::string::npos ? 'l' : '?';
                if (::write(results[1], &byte, 1) != 1) ::_exit(9);
                if (lock) ::pause();
                ::_exit(0);
            }
            children.push_back(child);
        }
        ::close(start[0]);
        ::close(start[1]);
        ::close(results[1]);
        std::string seen;
        char byte = 0;
        while (seen.size() < children.size() && ::read(results[0], &byte, 1) == 1) seen += byte;
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 'w'), 1) << seen;
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 'l'), 23) << seen;
        EXPECT_TRUE(holder_of(folder));
        for (pid_t child : children) ::kill(child, SIGKILL);
        for (pid_t child : children) ::waitpid(child, nullptr, 0);
        ::close(results[0]);
        EXPECT_EQ(holder_of(folder), std::nullopt);
    }
}

}  // namespace
}  // namespace hpo
