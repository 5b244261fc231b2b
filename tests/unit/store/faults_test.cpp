// Damaged files and failing disks. A study that is refused keeps its files unchanged.
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "orchestrator/store/file_system.hpp"
#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string read_file(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}
void write_file(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

Event report(std::int64_t step, std::size_t padding = 0) {
    event::Reported e{1, 1, {}};
    e.report.step = step;
    e.report.metrics = {{"loss", 1.0 / static_cast<double>(step)}};
    e.report.warning = std::string(padding, 'w');
    return e;
}

class StoreFaults : public ::testing::Test {
   protected:
    /// Writes a study with `steps` reports and closes it.
    void fill(int steps) {
        auto store = open_store(file_);
        ASSERT_TRUE(store) << store.error().message;
        ASSERT_TRUE((*store)->append(event::Proposed{1, {}, {}}));
        for (int step = 1; step <= steps; ++step) ASSERT_TRUE((*store)->append(report(step)));
    }
    /// Expects that opening or reading the study fails and that the file is unchanged.
    void expect_refused(const std::string& word) {
        const std::string before = read_file(file_);
        std::string message;
        if (auto store = open_store(file_); !store)
            message = store.error().message;
        else if (auto events = (*store)->events(0, 1'000'000); !events)
            message = events.error().message;
        EXPECT_THAT(message, HasSubstr(word));
        EXPECT_THAT(message, HasSubstr("study.db"));
        EXPECT_EQ(read_file(file_), before);
    }
    testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "study.db";
};

TEST_F(StoreFaults, AnEmptyFileIsRefusedAndStaysEmpty) {
    write_file(file_, "");
    expect_refused("0 bytes");
}

TEST_F(StoreFaults, AFileThatIsNoDatabaseIsRefused) {
    write_file(file_, "study: phase1\nseed: 1\n" + std::string(5000, '#'));
    expect_refused("not a study's database");
}

TEST_F(StoreFaults, ANamedPipeIsRefusedAndNotWaitedFor) {
    ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
    for (const auto& store : {open_store(file_), open_store_read_only(file_)}) {
        ASSERT_FALSE(store);
        EXPECT_EQ(store.error().message, file_.string() + ": is a named pipe, not a regular file: remove it");
    }
    fs::remove(file_);
    fill(1);
    const fs::path log = file_.string() + "-wal";
    fs::remove(log);
    ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
    const auto store = open_store_read_only(file_);
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().message, Mentions("study.db-wal:", "pipe"));
}

int failure_of_every_open = SQLITE_OK;

TEST_F(StoreFaults, AFailingDiskAndFailingLocksAreToldWithThePlaceAndTheCure) {
    sqlite3_vfs failing = *sqlite3_vfs_find(nullptr);
    failing.zName = "failing";
    failing.xOpen = [](sqlite3_vfs*, const char*, sqlite3_file* file, int, int*) {
        file->pMethods = nullptr;
        return failure_of_every_open;
    };
    ASSERT_EQ(sqlite3_vfs_register(&failing, 1), SQLITE_OK);
    const auto message = [&](int failure) {
        failure_of_every_open = failure;
        return sqlite::Database::open(file_, sqlite::Mode::read_write, 0).error().message;
    };
    EXPECT_THAT(message(SQLITE_IOERR_READ), AllOf(Mentions("study.db:", "read"), HasSubstr("dmesg")));
    EXPECT_THAT(message(SQLITE_PROTOCOL), AllOf(Mentions("study.db:", "locks"), HasSubstr("HPO_RUNS")));
    sqlite3_vfs_unregister(&failing);
}

TEST_F(StoreFaults, AnotherProgramsDatabaseIsRefused) {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE trials (id)", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
    expect_refused("another program's");
}

TEST_F(StoreFaults, ANewerSchemaIsRefused) {
    fill(3);
    sqlite3* later = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &later), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(later, "PRAGMA user_version = 3", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(later);
    expect_refused("newer hpo");
    EXPECT_FALSE(open_store_read_only(file_));
}

TEST_F(StoreFaults, ATruncatedDatabaseIsRefusedWhereverItWasCut) {
    fill(400);
    const std::string whole = read_file(file_);
    ASSERT_GT(whole.size(), 20'000u);
    for (std::size_t size : {std::size_t{1}, std::size_t{99}, std::size_t{100}, std::size_t{4096}, std::size_t{10'000},
                             whole.size() - 4096, whole.size() - 1}) {
        SCOPED_TRACE(size);
        write_file(file_, whole.substr(0, size));
        expect_refused("");
    }
    write_file(file_, whole);
    EXPECT_TRUE(open_store(file_));
}

TEST_F(StoreFaults, AFlippedByteIsNeverReadAsAnotherResult) {
    fill(400);
    const std::string whole = read_file(file_);
    const auto baseline = (*open_store_read_only(file_))->events(0, 1'000'000);
    ASSERT_TRUE(baseline);
    int noticed = 0;
    for (std::size_t at = 61; at < whole.size(); at += 397) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
        write_file(file_, damaged);
        auto store = open_store(file_);
        if (!store) {
            ++noticed;
            EXPECT_EQ(read_file(file_), damaged);
            continue;
        }
        const auto events = (*store)->events(0, 1'000'000);
        if (!events) {
            ++noticed;
            continue;
        }
        // The flipped byte was in free space, so all events are unchanged.
        ASSERT_EQ(events->size(), baseline->size()) << at;
        for (std::size_t i = 1; i < events->size(); ++i)
            ASSERT_EQ(std::get<event::Reported>((*events)[i].event).report.metrics,
                      std::get<event::Reported>((*baseline)[i].event).report.metrics)
                << at;
    }
    EXPECT_GT(noticed, 20);
}

TEST_F(StoreFaults, ADeletedEventIsNoticed) {
    fill(5);
    sqlite3* vandal = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &vandal), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(vandal, "DELETE FROM step WHERE sequence = 3", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(vandal);
    expect_refused("event 3: missing");
}

TEST_F(StoreFaults, AReadOnlyFolderIsAnErrorBeforeAnythingIsWritten) {
    ::chmod(folder_.path().c_str(), 0555);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);  // root can write to any folder
        const auto store = open_store(file_);
        ::_exit(!store && store.error().message.find("read-only") != std::string::npos ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ::chmod(folder_.path().c_str(), 0700);
    EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(StoreFaults, AViewerReadsAStudyInAReadOnlyFolder) {
    fill(3);
    ::chmod(folder_.path().c_str(), 0555);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
        const auto viewer = open_store_read_only(file_);
        const auto events = viewer ? (*viewer)->events(0, 10) : viewer.error();
        ::_exit(events && events->size() == 4 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ::chmod(folder_.path().c_str(), 0700);
}

TEST_F(StoreFaults, AnInterruptedCreationLeavesNoDatabaseAndTheNextOneSucceeds) {
    write_file(folder_ / "study.db.new", "half of a database");
    fill(1);
    EXPECT_FALSE(fs::exists(folder_ / "study.db.new"));
}

TEST_F(StoreFaults, AFullDiskIsAnErrorStoresNothingAndWritingGoesOnWhenThereIsSpace) {
    // A limit on file sizes simulates a full disk.
    ASSERT_EQ(::signal(SIGXFSZ, SIG_IGN), SIG_DFL);
    auto store = open_store(file_);
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->append(event::Proposed{1, {}, {}}));
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small { 200'000, before.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    std::int64_t step = 0;
    std::string message;
    while (step < 10'000 && message.empty()) {
        if (auto stored = (*store)->append(report(step + 1, 2000)); stored)
            ++step;
        else
            message = stored.error().message;
    }
    const auto finished = (*store)->append(event::Finished{1, 1, TrialState::complete, "", std::string(30'000, 'x')});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ::signal(SIGXFSZ, SIG_DFL);

    EXPECT_GT(step, 5);
    EXPECT_THAT(message, HasSubstr("study.db"));
    EXPECT_FALSE(finished);
    EXPECT_EQ((*store)->events(0, 100'000)->size(), static_cast<std::size_t>(step) + 1);
    ASSERT_TRUE((*store)->append(report(step + 1)));
    store = open_store(file_);  // opened again, as after a restart
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ((*store)->events(0, 100'000)->size(), static_cast<std::size_t>(step) + 2);
}

TEST_F(StoreFaults, ARealFullDiskIsReported) {
    // The mount is made in a child's mount namespace and disappears with the child.
    const pid_t child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=512k") != 0)
            ::_exit(77);
        auto store = open_store(file_);
        if (!store || !(*store)->append(event::Proposed{1, {}, {}})) ::_exit(2);
        std::int64_t step = 0;
        for (; step < 10'000; ++step) {
            const auto stored = (*store)->append(report(step + 1, 2000));
            if (stored) continue;
            if (stored.error().message.find("disk is full") == std::string::npos) ::_exit(3);
            break;
        }
        if ((*store)->append(event::Finished{1, 1, TrialState::complete, "", std::string(5000, 'x')})) ::_exit(4);
        auto viewer = open_store_read_only(file_);
        if (!viewer) ::_exit(5);
        const auto events = (*viewer)->events(0, 100'000);
        ::_exit(events && step > 5 && events->size() == static_cast<std::size_t>(step) + 1 ? 0 : 6);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs the right to mount";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(StoreFaults, AViewerThatHoldsAReadLockForLongNeverStopsTheWriter) {
    fill(10);
    auto store = open_store(file_);
    ASSERT_TRUE(store);
    sqlite3* viewer = nullptr;
    ASSERT_EQ(sqlite3_open_v2(file_.c_str(), &viewer, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(viewer, "BEGIN; SELECT count(*) FROM event", nullptr, nullptr, nullptr), SQLITE_OK);
    for (int step = 11; step <= 3000; ++step) ASSERT_TRUE((*store)->append(report(step, 100)));
    ASSERT_TRUE((*store)->append(event::Finished{1, 1, TrialState::complete, "", ""}));
    sqlite3_close_v2(viewer);
    EXPECT_EQ((*store)->events(0, 100'000)->size(), 3002u);
}

TEST_F(StoreFaults, AWriterKilledAtAnyInstantLeavesEveryAcknowledgedEvent) {
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        int acknowledged[2];
        ASSERT_EQ(::pipe(acknowledged), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(acknowledged[0]);
            auto store = open_store(file_);
            if (!store) ::_exit(1);
            if ((*store)->events(0, 1)->empty() && !(*store)->append(event::Proposed{1, {}, {}})) ::_exit(1);
            for (std::int64_t step = 1;; ++step) {
                const auto stored = (*store)->append(report(step));
                if (!stored || ::write(acknowledged[1], &stored->sequence, sizeof stored->sequence) < 0) ::_exit(1);
            }
        }
        ::close(acknowledged[1]);
        // Each round kills the writer after another number of acknowledgements.
        std::int64_t last = 0, sequence = 0;
        for (int i = 0; i < 1 + round * 7; ++i)
            if (::read(acknowledged[0], &sequence, sizeof sequence) == sizeof sequence) last = sequence;
        ::kill(child, SIGKILL);
        while (::read(acknowledged[0], &sequence, sizeof sequence) == sizeof sequence) last = sequence;
        ::close(acknowledged[0]);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status));
        const auto events = (*open_store_read_only(file_))->events(0, 1'000'000);
        ASSERT_TRUE(events) << events.error().message;
        ASSERT_GE(static_cast<std::int64_t>(events->size()), last);
    }
    EXPECT_TRUE(open_store(file_));
}

TEST(FileSystem, NetworkFileSystemsAreKnownByTheirNumbers) {
    EXPECT_EQ(network_name(0x6969), "NFS");
    EXPECT_EQ(network_name(0xFFFFFFFFFF534D42ul), "CIFS");
    EXPECT_EQ(network_name(0xEF53), std::nullopt);  // ext4
    EXPECT_EQ(network_file_system("/proc"), std::nullopt);
    EXPECT_EQ(network_file_system("/no/such/place"), std::nullopt);
}

}  // namespace
}  // namespace hpo
