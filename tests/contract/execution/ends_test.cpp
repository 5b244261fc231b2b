// The ends of workers, which leave no processes behind (README, promises 5, 7, 8, 9).
#include <csignal>
#include <string_view>

#include "tests/contract/execution/harness.hpp"
#include "tests/contract/execution/refused_calls.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using execution::Ready;
using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

double seconds_since(steady_clock::time_point began) { return duration<double>(steady_clock::now() - began).count(); }

/// Returns all living descendants of the supervisors.
std::size_t workers(const ExecutorHarness& harness) {
    return tagged(harness.tag).size() - supervisors(harness.tag).size();
}

TEST(End, AWorkerThatDiesOfASignalIsToldWithTheSignalAndItsLastOutput) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, "say=about to fall;die=SIGSEGV@2");
    harness.go_on(0, harness.next_message<from_worker::Reported>(0));
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.signal, SIGSEGV);
    EXPECT_EQ(exited.log_tail, "about to fall");
    EXPECT_FALSE(exited.out_of_memory_kill);
}

TEST(End, AnExitCodeArrives) {
    ExecutorHarness harness;
    harness.launch(0, "exit=7");
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.code, 7);
    EXPECT_EQ(exited.signal, 0);
    EXPECT_EQ(harness.count<Ready>(0), 0U);
}

TEST(End, ThePlaceIsFreeAfterwardsForTheNextWorker) {
    ExecutorHarness harness;
    for (int i = 0; i < 2; ++i) {  // several hosts set one aside on which three in a row end before they are ready
        harness.launch(3, i % 2 == 0 ? "exit=1" : "die=SIGABRT");
        EXPECT_EQ(harness.next<Exited>(3).code, i % 2 == 0 ? 1 : 0);
    }
    EXPECT_EQ(supervisors(harness.tag).size(), 1U);
}

TEST(End, WhatAWorkerSaidBeforeItsEndIsToldBeforeItsEnd) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, "flood=2000;nowait;exit=0@end", 1);
    harness.next<Exited>(0);
    EXPECT_EQ(harness.count<execution::Received>(0), 2003U);  // started, 2001 reports, finished
    EXPECT_TRUE(std::holds_alternative<Exited>(harness.log.back().second));
}

TEST(End, TheLastTwentyLinesOfTheLogComeAlongPrintable) {
    ExecutorHarness harness;
    harness.launch(0, {"/bin/sh", "-c", "seq 1 1000; printf '\\033[31mred\\007\\377\\n'"}, {});
    const auto tail = harness.next<Exited>(0).log_tail;
    EXPECT_THAT(tail, StartsWith("982\n983\n"));
    EXPECT_THAT(tail, HasSubstr("1000\n\\x1b[31mred\\x07\\xff"));
}

TEST(End, TermEndsAWorkerGently) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.executor->terminate(0, 60);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGTERM);
}

TEST(End, AWorkerThatIgnoresTermIsKilledAfterTheGracePeriod) {
    ExecutorHarness harness;
    harness.launch(0, "ignore-term");
    harness.next<Ready>(0);
    const auto began = steady_clock::now();
    harness.executor->terminate(0, 0.2);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
    EXPECT_GE(seconds_since(began), 0.19);
    EXPECT_LT(seconds_since(began), 2);
}

TEST(End, WhatAStoppedSupervisorKeepsIsKilledWhenTheExecutorEnds) {
    ExecutorHarness harness;
    harness.launch(0, "children=2;daemon=1");
    harness.next<Ready>(0);
    for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGSTOP);
    harness.executor->kill(0);
    harness.executor->end(milliseconds(50));
    EXPECT_TRUE(eventually([&] { return tagged(harness.tag).empty(); }));
}

TEST(End, AStoppedWorkerIsKilledAsWell) {
    ExecutorHarness harness;
    harness.launch(0, "ignore-term");
    const auto pid = static_cast<pid_t>(harness.next<Ready>(0).hello.pid);
    ::kill(pid, SIGSTOP);
    harness.executor->terminate(0, 0.05);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
}

TEST(End, KillIsAtOnceAlsoBeforeHello) {
    ExecutorHarness harness;
    harness.launch(0, "nohello");
    harness.executor->kill(0);
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.signal, SIGKILL);
    EXPECT_FALSE(exited.out_of_memory_kill);
}

TEST(End, OrdersToAFreePlaceAreIgnored) {
    ExecutorHarness harness;
    harness.executor->kill(5);
    harness.executor->terminate(5, 1);
    harness.executor->send(5, to_worker::Shutdown{});
    harness.launch(5, "exit=3");
    EXPECT_EQ(harness.next<Exited>(5).code, 3);
    harness.executor->kill(5);
    harness.launch(5);
    harness.next<Ready>(5);
}

class Descendants : public ::testing::TestWithParam<const char*> {
   protected:
    void SetUp() override {
        if (std::string_view(GetParam()).ends_with("chain") && !adopts_orphans())
            GTEST_SKIP()
                << "without sub-reapers, processes that fork and end again and again outrun the search for them";
    }
};

TEST_P(Descendants, DieWithTheirWorkerBeforeItsEndIsTold) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, std::string(GetParam()) + "@1;exit=5@2");
    harness.go_on(0, harness.next_message<from_worker::Reported>(0));
    const auto began = steady_clock::now();
    EXPECT_EQ(harness.next<Exited>(0).code, 5);
    EXPECT_LT(seconds_since(began), 2);
    EXPECT_EQ(workers(harness), 0U);
}

TEST_P(Descendants, DieWhenTheWorkerIsKilled) {
    ExecutorHarness harness;
    harness.launch(0, GetParam());
    harness.next<Ready>(0);
    harness.executor->kill(0);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
    EXPECT_EQ(workers(harness), 0U);
}

TEST_P(Descendants, DieWithTheExecutor) {
    ExecutorHarness harness;
    for (WorkerIndex index : {0, 1}) harness.launch(index, GetParam());
    for (WorkerIndex index : {0, 1}) harness.next<Ready>(index);
    const auto began = steady_clock::now();
    harness.executor.reset();
    EXPECT_LT(seconds_since(began), 2);
    EXPECT_EQ(tagged(harness.tag).size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, Descendants,
                         ::testing::Values("siblings=3", "children=3", "daemon=3", "children=200", "chain",
                                           "setsid-chain"),
                         [](const auto& given) {
                             std::string name = given.param;
                             std::erase_if(name,
                                           [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                             return name;
                         });

TEST(End, AGrandchildThatHoldsStdoutOpenDoesNotDelayTheEnd) {
    ExecutorHarness harness;
    const auto began = steady_clock::now();
    harness.launch(0, {"/bin/sh", "-c", "setsid sleep 1000 & echo done; exit 4"}, {});
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.code, 4);
    EXPECT_EQ(exited.log_tail, "done");
    EXPECT_LT(seconds_since(began), 2);
}

TEST(End, AWorkerThatClosesItsConnectionIsEndedAfterAWhile) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, "disconnect@1");
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.signal, SIGKILL);
    EXPECT_THAT(exited.cause, MentionsInOrder("closed", "not exit"));
}

}  // namespace
}  // namespace hpo::testing_execution
