// SIGKILL to wardens and to the orchestrator at any instant: nothing stays behind (README, promises 1, 8, 11).
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <random>

#include "orchestrator/execution/private_folder.hpp"
#include "tests/contract/execution/harness.hpp"
#include "tests/contract/execution/mortal.hpp"

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using execution::Ready;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds promised{2};

/// An orchestrator in a process of its own (mortal.hpp).
class Mortal {
   public:
    Mortal(const std::string& mark, const std::string& start, const std::string& script) : mark_(mark) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        std::vector<std::string> words{"mortal", mortal_word, mark, "2", start, script};
        std::vector<char*> argv;
        for (auto& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        output_ = ends[0];
    }
    ~Mortal() {
        kill();
        ::close(output_);
        (void)PrivateFolder::make(mark_);  // clears what was left, and itself
    }
    /// Until all its workers are.
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
    std::string mark_;
    pid_t pid_ = 0;
    int output_ = -1;
};

TEST(Killed, TheOrchestratorAtRandomInstantsLeavesNothingAfterTwoSeconds) {
    std::mt19937 random(1);
    for (int round = 0; round < 40; ++round) {
        const std::string mark = new_mark();
        Mortal mortal(mark, "children=1;daemon=1", "children=1@2;exit=1@3");
        if (round % 2 == 0) mortal.wait_ready();
        ::usleep(random() % 50'000);
        mortal.kill();
        EXPECT_TRUE(eventually([&] { return marked(mark).empty(); }, promised)) << "round " << round;
        sweep(mark);
    }
}

TEST(Killed, AWardenAtRandomInstantsEndsItsWorkerAloneAndThePlaceGoesOn) {
    std::mt19937 random(2);
    Bench bench;
    bench.launch(1);
    bench.next<Ready>(1);
    const auto bystander = wardens(bench.mark).at(0);
    for (int round = 0; round < 40; ++round) {
        bench.launch(0, "children=1;daemon=1;siblings=1");
        if (round % 2 == 0) bench.next<Ready>(0);
        bench.until([] { return false; }, milliseconds(random() % 20));
        for (const pid_t warden : children_of(::getpid()))
            if (warden != bystander) ::kill(warden, SIGKILL);
        const auto exited = bench.next<Exited>(0);
        EXPECT_EQ(exited.signal, SIGKILL);
        EXPECT_EQ(exited.cause, "its warden was killed");
        EXPECT_EQ(marked(bench.mark + ":0").size(), 0U) << "round " << round;
    }
    bench.run_trial(1, "");
    EXPECT_EQ(bench.finish(1).outcome, Outcome::complete);
}

TEST(Killed, OrchestratorAndWardensTogetherAreSweptByTheNextRun) {
    const std::string mark = new_mark();
    {
        Mortal mortal(mark, "children=2;daemon=2", "");
        mortal.wait_ready();
        const auto all = wardens(mark);
        ASSERT_EQ(all.size(), 2U);
        // Two wardens, two workers, and their eight detached grandchildren, forked twice each.
        ASSERT_TRUE(eventually([&] { return marked(mark).size() >= 12; }));
        for (const pid_t warden : all) ::kill(warden, SIGSTOP);
        mortal.kill();
        for (const pid_t warden : all) ::kill(warden, SIGKILL);
    }
    EXPECT_GE(marked(mark).size(), 8U);
    const std::string neighbour = mark + "0";
    EXPECT_TRUE(sweep(neighbour));
    EXPECT_GE(marked(mark).size(), 8U);
    EXPECT_TRUE(sweep(mark));
    EXPECT_EQ(marked(mark).size(), 0U);
}

TEST(Killed, AFrozenWardenDoesNotKeepTheExecutorFromEnding) {
    Bench bench;
    bench.launch(0, "children=1");
    bench.next<Ready>(0);
    for (const pid_t warden : wardens(bench.mark)) ::kill(warden, SIGSTOP);
    bench.executor.reset();
    EXPECT_EQ(marked(bench.mark).size(), 0U);
}

TEST(Killed, AWardenThatGetsTermKillsItsTreeAndEnds) {
    Bench bench;
    bench.launch(0, "children=1");
    bench.next<Ready>(0);
    for (const pid_t warden : wardens(bench.mark)) ::kill(warden, SIGTERM);
    EXPECT_EQ(bench.next<Exited>(0).signal, SIGKILL);
    EXPECT_TRUE(eventually([&] { return marked(bench.mark).empty(); }, promised));
}

TEST(Killed, TheFolderOfAKilledOrchestratorIsRemovedByTheNextWithItsMark) {
    const std::string mark = new_mark();
    Mortal mortal(mark, "", "");
    mortal.wait_ready();
    mortal.kill();
    ASSERT_TRUE(eventually([&] { return marked(mark).empty(); }, promised));
    LocalOptions options;
    options.mark = mark;
    const Bench bench(options);
    const auto folder = bench.executor->folder();
    const std::string prefix = folder.filename().string().substr(0, sizeof "hpo-0123456789abcdef-" - 1);
    int alike = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.parent_path()))
        alike += entry.path().filename().string().starts_with(prefix);
    EXPECT_EQ(alike, 1);
}

}  // namespace
}  // namespace hpo::testing_execution
