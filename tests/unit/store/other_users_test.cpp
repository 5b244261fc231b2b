// Another user who may read a study's folder can neither stop nor freeze it, and still sees the study; and who holds a
// lock is named.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <functional>

#include "hpo/descriptor.hpp"
#include "hpo/interrupted.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/lock_owner.hpp"
#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

mode_t mode_of(const fs::path& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
    return info.st_mode & 0777;
}

/// Runs `check` in a process of another user; only root can do so.
int as_another_user(const std::function<int()>& check) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(77);
        ::_exit(check());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class OtherUsers : public ::testing::Test {
   protected:
    OtherUsers() { ::chmod(folder_.path().c_str(), 0755); }
    [[nodiscard]] fs::path memory() const { return file_.string() + "-shm"; }

    testing::TemporaryFolder folder_;
    StudyFolder study_{folder_.path()};
    fs::path file_ = study_.database();
};

TEST_F(OtherUsers, WhatALockOnWouldFreezeTheStudyIsClosedToThoseWhoMayNotWriteToItsFolder) {
    for (const auto& [folder, file] :
         {std::pair<mode_t, mode_t>{0700, 0600}, {0755, 0600}, {0775, 0660}, {0777, 0666}}) {
        SCOPED_TRACE(folder);
        ::chmod(folder_.path().c_str(), folder);
        const auto lock = HolderLock::take(study_);
        ASSERT_TRUE(lock);
        const auto store = open_store(file_);
        ASSERT_TRUE(store) << store.error().message;
        ASSERT_TRUE((*store)->set_source("study: s\n"));
        EXPECT_EQ(mode_of(memory()), file);
        EXPECT_EQ(mode_of(study_.lock()), file);
    }
}

TEST_F(OtherUsers, OfTheGroupGoOnWithAStudyIfTheUmaskLetsThem) {
    for (const auto& [mask, mode] : {std::pair<mode_t, mode_t>{0002, 0664}, {0022, 0644}, {0077, 0600}}) {
        fs::remove(file_);
        const mode_t before = ::umask(mask);
        { ASSERT_TRUE(open_store(file_)); }
        ::umask(before);
        EXPECT_EQ(mode_of(file_), mode);
    }
}

TEST_F(OtherUsers, FilesThatAnEarlierVersionLeftOpenAreClosed) {
    { const auto store = open_store(file_); }
    ::close(::open(memory().c_str(), O_CREAT | O_RDWR, 0644));
    ::close(::open(study_.lock().c_str(), O_CREAT | O_RDWR, 0644));
    ::chmod(memory().c_str(), 0644);
    const auto lock = HolderLock::take(study_);
    const auto store = open_store(file_);
    ASSERT_TRUE((*store)->set_source("study: s\n"));
    EXPECT_EQ(mode_of(memory()), 0600u);
    EXPECT_EQ(mode_of(study_.lock()), 0600u);
}

TEST_F(OtherUsers, AViewerLeavesNoMoreOpenThanTheRun) {
    { const auto store = open_store(file_); }
    const auto viewer = open_store_read_only(file_);
    ASSERT_TRUE((*viewer)->events(0, 10));
    EXPECT_EQ(mode_of(memory()), 0600u);
}

TEST_F(OtherUsers, SeeAStudyThatRunsAndThatItRuns) {
    const auto lock = HolderLock::take(study_);
    const auto store = open_store(file_);
    ASSERT_TRUE((*store)->set_source("study: s\n"));
    ASSERT_TRUE((*store)->append(event::Proposed{1, {}, {}}));
    const auto check = [&](std::size_t trials) {
        const auto viewer = open_store_read_only(file_);
        if (!viewer) return 1;
        const auto events = (*viewer)->events(0, 100);
        if (!events || events->size() != trials) return 2;
        if (!(*viewer)->stands_still()) return 3;
        if (!holder_of(study_)) return 4;
        for (const fs::path& file : {memory(), study_.lock()})
            if (::open(file.c_str(), O_RDONLY) >= 0 || errno != EACCES) return 5;
        return 0;
    };
    const int first = as_another_user([&] { return check(1); });
    if (first == 77) GTEST_SKIP() << "needs the right to become another user";
    EXPECT_EQ(first, 0);
    ASSERT_TRUE((*store)->append(event::Proposed{2, {}, {}}));
    EXPECT_EQ(as_another_user([&] { return check(2); }), 0);
    for (const auto& left : fs::directory_iterator(fs::temp_directory_path()))
        EXPECT_THAT(left.path().filename().string(), Not(HasSubstr("hpo-copy-"))) << "a copy is removed";
}

TEST(LockOwner, ReadsTheKernelsTable) {
    constexpr std::string_view table =
        "1: POSIX  ADVISORY  READ  412 08:01:55 120 120\n"
        "1: -> POSIX  ADVISORY  WRITE 413 08:01:55 120 120\n"
        "2: FLOCK  ADVISORY  WRITE 414 08:01:55 0 EOF\n"
        "3: OFDLCK ADVISORY  WRITE -1 00:2a:55 0 EOF\n"
        "4: POSIX  ADVISORY  WRITE 415 08:01:155 0 EOF\n"
        "5: nonsense\n\n6: POSIX ADVISORY READ x y z 1\n";
    const auto locks = locks_in(table, 55);
    ASSERT_EQ(locks.size(), 2u);
    EXPECT_EQ(locks[0].pid, 412);
    EXPECT_FALSE(locks[0].exclusive);
    EXPECT_EQ(locks[0].first, 120);
    EXPECT_EQ(locks[0].last, 120);
    EXPECT_EQ(locks[1].pid, 0);
    EXPECT_TRUE(locks[1].exclusive);
    EXPECT_EQ(locks[1].last, INT64_MAX);
    EXPECT_THAT(locks_in("", 55), IsEmpty());
}

/// Another process that does `lock` to the study's files, and lives until the end.
class Locker {
   public:
    explicit Locker(const std::function<bool()>& lock) {
        int ready[2];
        EXPECT_EQ(::pipe(ready), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            const bool done = lock();
            (void)!::write(ready[1], done ? "y" : "n", 1);
            for (;;) ::pause();
        }
        char done = 'n';
        EXPECT_EQ(::read(ready[0], &done, 1), 1);
        EXPECT_EQ(done, 'y');
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Locker() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Locker(const Locker&) = delete;
    Locker& operator=(const Locker&) = delete;
    [[nodiscard]] pid_t pid() const { return pid_; }

   private:
    pid_t pid_ = 0;
};

class Lockers : public OtherUsers {
   protected:
    ~Lockers() override { interrupted_by = 0; }
    /// Checks the message of a run that finds the database locked.
    void expect_named(const Locker& locker) {
        EXPECT_THAT(lockers_of(file_), HasSubstr("process " + std::to_string(locker.pid())));
        interrupted_by = SIGINT;  // it does not wait for long
        const auto refused = store_->append(event::Proposed{1, {}, {}});
        interrupted_by = 0;
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, Mentions("locked", "process " + std::to_string(locker.pid())));
        EXPECT_THAT(refused.error().message, HasSubstr("store"));  // this test's program
    }
    std::unique_ptr<Store> store_ = *open_store(file_);
};

TEST_F(Lockers, OfATransactionAreNamed) {
    ASSERT_TRUE(store_->set_source("study: s\n"));
    std::optional<sqlite::Database> other;
    const Locker locker([&] {
        other.emplace(*sqlite::Database::open(file_, sqlite::Mode::read_write, 0));
        return other->run("BEGIN IMMEDIATE").ok();
    });
    expect_named(locker);
}

TEST_F(Lockers, OfASharedMemoryThatTheyOnlyReadAreNamed) {
    ASSERT_TRUE(store_->set_source("study: s\n"));
    const Locker locker([&] {
        const int fd = ::open(memory().c_str(), O_RDONLY);
        struct flock lock {};
        lock.l_type = F_RDLCK;
        lock.l_start = 120;
        lock.l_len = 1;
        return ::fcntl(fd, F_SETLK, &lock) == 0;
    });
    expect_named(locker);
}

TEST_F(Lockers, OfThePlacesOfReadersAreWaitedForWithPatienceAndOnlyOnceForLong) {
    // SQLite asks no busy handler about them: it tries a hundred times with pauses, for ten seconds in all.
    ASSERT_TRUE(store_->set_source("study: s\n"));
    auto writer = *sqlite::Database::open(file_, sqlite::Mode::read_write, 0);
    ASSERT_TRUE(writer.value("SELECT count(*) FROM event"));
    const Locker locker([&] {
        const int fd = ::open(memory().c_str(), O_RDWR);
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_start = 123;
        lock.l_len = 5;
        return ::fcntl(fd, F_SETLK, &lock) == 0;
    });
    int asked = 0;
    writer.wait_for_locks([&](double waited) {
        EXPECT_GE(waited, 0);
        return ++asked < 5;
    });
    const auto refused = writer.value("SELECT count(*) FROM event");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, Mentions("HPO_RUNS", "local"));
    EXPECT_GE(asked, 5);
    asked = 0;
    EXPECT_TRUE(writer.run("BEGIN; COMMIT")) << "they need no lock";
    EXPECT_FALSE(writer.value("SELECT count(*) FROM event"));
    EXPECT_EQ(asked, 0) << "it has given up";
}

/// While it lives, the kernel grants SQLite no lock on the byte for which writers wait.
struct RefusedWriters {
    RefusedWriters() { set(refusing); }
    ~RefusedWriters() { set(nullptr); }
    RefusedWriters(const RefusedWriters&) = delete;
    RefusedWriters& operator=(const RefusedWriters&) = delete;

    static void set(int (*call)(int, int, ...)) {
        sqlite3_vfs* system = sqlite3_vfs_find("unix");
        EXPECT_EQ(system->xSetSystemCall(system, "fcntl", reinterpret_cast<sqlite3_syscall_ptr>(call)), SQLITE_OK);
    }
    static int refusing(int fd, int command, ...) {
        va_list arguments;
        va_start(arguments, command);
        void* const argument = va_arg(arguments, void*);
        va_end(arguments);
        const auto* lock = static_cast<const struct flock*>(argument);
        if (command == F_SETLK && lock->l_type == F_WRLCK && lock->l_start == 120) return errno = EAGAIN, -1;
        return ::fcntl(fd, command, argument);
    }
};

TEST_F(Lockers, ThatAreNowhereAreWaitedForOnlyOnceUntilSomethingIsStoredAgain) {
    ASSERT_TRUE(store_->set_source("study: s\n"));
    auto writer = *sqlite::Database::open(file_, sqlite::Mode::read_write, 0);
    int asked = 0;
    writer.wait_for_locks(
        [&](double) {
            EXPECT_LT(++asked, 1'000) << "it waits without end";
            return asked < 1'000;
        },
        40);
    const auto add = [&] { return writer.run("INSERT OR REPLACE INTO study VALUES ('key', 'value')"); };
    {
        const RefusedWriters refused;
        for (int i = 0; i < 2; ++i) {
            const int before = asked;
            const auto added = add();
            ASSERT_FALSE(added);
            EXPECT_THAT(added.error().message, Mentions("process", "HPO_RUNS"));
            EXPECT_EQ(asked > before, i == 0);
        }
    }
    EXPECT_TRUE(add());
    writer.worked();
    const RefusedWriters refused;
    const int before = asked;
    EXPECT_FALSE(add());
    EXPECT_GT(asked, before) << "locks have worked since: it waits again";
}

TEST_F(Lockers, ThatLiveAreWaitedForBeyondTheTimeOfLocksThatNobodyHolds) {
    ASSERT_TRUE(store_->set_source("study: s\n"));
    std::optional<sqlite::Database> other;
    const Locker locker([&] {
        other.emplace(*sqlite::Database::open(file_, sqlite::Mode::read_write, 0));
        return other->run("BEGIN IMMEDIATE").ok();
    });
    auto writer = *sqlite::Database::open(file_, sqlite::Mode::read_write, 0);
    double longest = 0;
    writer.wait_for_locks([&](double waited) { return (longest = waited) < 0.2; }, 20);
    const auto refused = writer.run("INSERT INTO study VALUES ('key', 'value')");
    ASSERT_FALSE(refused);
    EXPECT_GE(longest, 0.2);
    EXPECT_THAT(refused.error().message, Mentions("locked", "process"));
}

TEST_F(Lockers, ThatAreNotSeenAreKnownToTheKernel) {
    ASSERT_TRUE(store_->set_source("study: s\n"));
    LockQuestion question(file_);
    EXPECT_FALSE(question.kernel_knows_holder());
    const Descriptor other(::open(memory().c_str(), O_RDWR));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 121;
    lock.l_len = 1;
    ASSERT_EQ(::fcntl(other.get(), F_OFD_SETLK, &lock), 0);  // of no process, as one in another container
    EXPECT_TRUE(question.kernel_knows_holder());
    lock.l_type = F_UNLCK;
    ASSERT_EQ(::fcntl(other.get(), F_OFD_SETLK, &lock), 0);
    EXPECT_FALSE(question.kernel_knows_holder());
}

TEST_F(Lockers, ThatOnlyReadTheStudyAreNotNamed) {
    ASSERT_TRUE(store_->set_source("study: s\n"));
    std::optional<sqlite::Database> other;
    const Locker locker([&] {
        other.emplace(*sqlite::Database::open(file_, sqlite::Mode::read_only, 0));
        return other->run("BEGIN").ok() && other->value("SELECT count(*) FROM event").ok();
    });
    EXPECT_THAT(lockers_of(file_), IsEmpty());
    EXPECT_TRUE(store_->append(event::Proposed{1, {}, {}}));
}

}  // namespace
}  // namespace hpo
