// After SIGKILL to supervisors or to the orchestrator no process is left (README, promises 1, 8, 11).
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "orchestrator/execution/private_folder.hpp"
#include "orchestrator/execution/processes.hpp"
#include "tests/contract/execution/child_orchestrator.hpp"
#include "tests/contract/execution/harness.hpp"
#include "tests/contract/execution/refused_calls.hpp"
#include "tests/support/mentions.hpp"

namespace {
pid_t killed_by_number = 0;
}

/// Replaces the function of the C library in this program, and notes who gets SIGKILL by its pid.
extern "C" int kill(pid_t pid, int signal) noexcept {
    if (signal == SIGKILL) killed_by_number = pid;
    return static_cast<int>(::syscall(SYS_kill, pid, signal));
}

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using execution::Ready;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds promised{2};

/// An orchestrator in a separate process (child_orchestrator.hpp).
class ChildOrchestrator {
   public:
    ChildOrchestrator(const std::string& tag, const std::string& start, const std::string& script) : tag_(tag) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        std::vector<std::string> arguments{"orchestrator", child_orchestrator_command, tag, "2", start, script};
        std::vector<char*> argv;
        for (auto& word : arguments) argv.push_back(word.data());
        argv.push_back(nullptr);
        EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        output_ = ends[0];
    }
    ~ChildOrchestrator() {
        kill();
        ::close(output_);
        (void)PrivateFolder::make(tag_);  // clears left folders, and its own
    }
    /// Waits until all its workers are ready.
    void wait_ready() const {
        char line[16];
        EXPECT_GT(::read(output_, line, sizeof line), 0);
    }
    void kill() {
        if (pid_ == 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

   private:
    std::string tag_;
    pid_t pid_ = 0;
    int output_ = -1;
};

TEST(Killed, TheOrchestratorAtRandomInstantsLeavesNothingAfterTwoSeconds) {
    std::mt19937 random(1);
    for (int round = 0; round < 40; ++round) {
        const std::string tag = new_tag();
        ChildOrchestrator child(tag, "children=1;daemon=1", "children=1@2;exit=1@3");
        if (round % 2 == 0) child.wait_ready();
        ::usleep(random() % 50'000);
        child.kill();
        EXPECT_TRUE(eventually([&] { return tagged(tag).empty(); }, promised)) << "round " << round;
        sweep(tag);
    }
}

TEST(Killed, ASupervisorAtRandomInstantsEndsItsWorkerAloneAndThePlaceGoesOn) {
    std::mt19937 random(2);
    ExecutorHarness harness;
    harness.launch(1);
    harness.next<Ready>(1);
    const auto bystander = supervisors(harness.tag).at(0);
    for (int round = 0; round < 40; ++round) {
        harness.launch(0, "children=1;daemon=1;siblings=1");
        if (round % 2 == 0) harness.next<Ready>(0);
        harness.until([] { return false; }, milliseconds(random() % 20));
        for (const pid_t supervisor : children_of(::getpid()))
            if (supervisor != bystander) ::kill(supervisor, SIGKILL);
        const auto exited = harness.next<Exited>(0);
        EXPECT_EQ(exited.signal, SIGKILL);
        EXPECT_THAT(exited.cause, Mentions("supervisor", "killed"));
        EXPECT_EQ(tagged(harness.tag + ":0").size(), 0U) << "round " << round;
    }
    harness.run_trial(1, "");
    EXPECT_EQ(harness.finish(1).outcome, Outcome::complete);
}

/// Returns true if a process runs `sleep SECONDS`.
bool sleeps(const std::string& seconds) {
    for (const pid_t pid : all_processes()) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
        const std::string command{std::istreambuf_iterator<char>(file), {}};
        if (command == std::string("sleep\0", 6) + seconds + '\0') return true;
    }
    return false;
}

TEST(Killed, ASupervisorLeavesNoDescendantThatHasClearedItsEnvironment) {
    if (!adopts_orphans()) GTEST_SKIP() << "without sub-reapers, one that has also left its session is not found";
    ExecutorHarness harness;
    const std::string seconds = std::to_string(1'000'000 + ::getpid());
    harness.launch(0, "envless=" + seconds);
    harness.next<Ready>(0);
    ASSERT_TRUE(eventually([&] { return sleeps(seconds); }));
    for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGKILL);
    EXPECT_THAT(harness.next<Exited>(0).cause, Mentions("supervisor", "killed"));
    EXPECT_FALSE(sleeps(seconds));
}

TEST(Killed, ASupervisorLeavesNoneInItsSessionThatHasClearedItsEnvironment) {
    ExecutorHarness harness;
    const std::string seconds = std::to_string(2'000'000 + ::getpid());
    harness.launch(0, "envless-group=" + seconds);
    harness.next<Ready>(0);
    ASSERT_TRUE(eventually([&] { return sleeps(seconds); }));
    for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGKILL);
    EXPECT_THAT(harness.next<Exited>(0).cause, Mentions("supervisor", "killed"));
    EXPECT_FALSE(sleeps(seconds));
}

TEST(Killed, ASupervisorDoesNotTakeAlongWhatTheOrchestratorHadAsAChildBefore) {
    const pid_t other = ::fork();
    if (other == 0) ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ExecutorHarness harness;
    harness.launch(0, "daemon=1");
    harness.next<Ready>(0);
    for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGKILL);
    EXPECT_THAT(harness.next<Exited>(0).cause, Mentions("supervisor", "killed"));
    EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0) << "a bystander was killed";
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
}

TEST(Killed, OrchestratorAndSupervisorsTogetherAreSweptByTheNextRun) {
    const std::string tag = new_tag();
    {
        ChildOrchestrator child(tag, "children=2;daemon=2", "");
        child.wait_ready();
        const auto all = supervisors(tag);
        ASSERT_EQ(all.size(), 2U);
        // There are two supervisors, two workers, and eight detached grandchildren, which were each forked twice.
        ASSERT_TRUE(eventually([&] { return tagged(tag).size() >= 12; }));
        for (const pid_t supervisor : all) ::kill(supervisor, SIGSTOP);
        child.kill();
        for (const pid_t supervisor : all) ::kill(supervisor, SIGKILL);
    }
    EXPECT_GE(tagged(tag).size(), 8U);
    const std::string neighbour = tag + "0";
    EXPECT_TRUE(sweep(neighbour));
    EXPECT_GE(tagged(tag).size(), 8U);
    EXPECT_TRUE(sweep(tag));
    EXPECT_EQ(tagged(tag).size(), 0U);
}

TEST(Killed, AFrozenSupervisorDoesNotKeepTheExecutorFromEnding) {
    ExecutorHarness harness;
    harness.launch(0, "children=1");
    harness.next<Ready>(0);
    for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGSTOP);
    harness.executor.reset();
    EXPECT_EQ(tagged(harness.tag).size(), 0U);
}

TEST(Killed, ASupervisorThatGetsTermKillsItsTreeAndEnds) {
    ExecutorHarness harness;
    harness.launch(0, "children=1");
    harness.next<Ready>(0);
    for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGTERM);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
    EXPECT_TRUE(eventually([&] { return tagged(harness.tag).empty(); }, promised));
}

TEST(Killed, NoLaterProcessWithThePidWhereTheSystemRefusesSignalsByHandlesAlone) {
    const pid_t tester = ::fork();
    if (tester == 0) {
        refuse_calls({SYS_pidfd_send_signal});
        for (const bool ends_in_between : {true, false}) {
            const pid_t victim = ::fork();
            while (victim == 0) ::pause();
            killed_by_number = 0;
            kill_each([&](pid_t pid) {
                if (pid != victim) return false;
                if (!ends_in_between) return true;
                ::syscall(SYS_kill, victim, SIGKILL);
                ::waitpid(victim, nullptr, 0);  // from now on its pid may be that of another process
                return true;
            });
            if (killed_by_number != (ends_in_between ? 0 : victim)) ::_exit(ends_in_between ? 1 : 2);
            if (!ends_in_between && ::waitpid(victim, nullptr, 0) != victim) ::_exit(3);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(tester, &status, 0);
    EXPECT_EQ(status, 0) << "1: a later process got the signal, 2: the process itself got none";
}

TEST(Killed, TheFolderOfAKilledOrchestratorIsRemovedByTheNextWithItsMark) {
    const std::string tag = new_tag();
    ChildOrchestrator child(tag, "", "");
    child.wait_ready();
    child.kill();
    ASSERT_TRUE(eventually([&] { return tagged(tag).empty(); }, promised));
    LocalOptions options;
    options.tag = tag;
    const ExecutorHarness harness(options);
    const auto folder = harness.executor->folder();
    const std::string prefix = folder.filename().string().substr(0, sizeof "hpo-0123456789abcdef-" - 1);
    int alike = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.parent_path()))
        alike += entry.path().filename().string().starts_with(prefix);
    EXPECT_EQ(alike, 1);
}

}  // namespace
}  // namespace hpo::testing_execution
