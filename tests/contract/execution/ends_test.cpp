// How workers end, and that nothing of theirs is left (README, promises 5, 7, 8, 9).
#include <csignal>

#include "tests/contract/execution/harness.hpp"

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

/// All that lives below the supervisors.
std::size_t workers(const Bench& bench) { return tagged(bench.tag).size() - supervisors(bench.tag).size(); }

TEST(End, AWorkerThatDiesOfASignalIsToldWithTheSignalAndItsLastOutput) {
    Bench bench;
    bench.launch(0);
    bench.next<Ready>(0);
    bench.run_trial(0, "say=about to fall;die=SIGSEGV@2");
    bench.go_on(0, bench.next_message<from_worker::Reported>(0));
    const auto exited = bench.next<Exited>(0);
    EXPECT_EQ(exited.signal, SIGSEGV);
    EXPECT_EQ(exited.log_tail, "about to fall");
    EXPECT_FALSE(exited.out_of_memory_kill);
}

TEST(End, AnExitCodeArrives) {
    Bench bench;
    bench.launch(0, "exit=7");
    const auto exited = bench.next<Exited>(0);
    EXPECT_EQ(exited.code, 7);
    EXPECT_EQ(exited.signal, 0);
    EXPECT_EQ(bench.count<Ready>(0), 0U);
}

TEST(End, ThePlaceIsFreeAfterwardsForTheNextWorker) {
    Bench bench;
    for (int i = 0; i < 5; ++i) {
        bench.launch(3, i % 2 == 0 ? "exit=1" : "die=SIGABRT");
        EXPECT_EQ(bench.next<Exited>(3).code, i % 2 == 0 ? 1 : 0);
    }
    EXPECT_EQ(supervisors(bench.tag).size(), 1U);
}

TEST(End, WhatAWorkerSaidBeforeItsEndIsToldBeforeItsEnd) {
    Bench bench;
    bench.launch(0);
    bench.next<Ready>(0);
    bench.run_trial(0, "flood=2000;nowait;exit=0@end", 1);
    bench.next<Exited>(0);
    EXPECT_EQ(bench.count<execution::Received>(0), 2003U);  // started, 2001 reports, finished
    EXPECT_TRUE(std::holds_alternative<Exited>(bench.log.back().second));
}

TEST(End, TheLastTwentyLinesOfTheLogComeAlongPrintable) {
    Bench bench;
    bench.launch(0, {"/bin/sh", "-c", "seq 1 1000; printf '\\033[31mred\\007\\377\\n'"}, {});
    const auto tail = bench.next<Exited>(0).log_tail;
    EXPECT_THAT(tail, StartsWith("982\n983\n"));
    EXPECT_THAT(tail, HasSubstr("1000\n\\x1b[31mred\\x07\\xff"));
}

TEST(End, TermEndsAWorkerGently) {
    Bench bench;
    bench.launch(0);
    bench.next<Ready>(0);
    bench.executor->terminate(0, 60);
    EXPECT_EQ(bench.next<Exited>(0).signal, SIGTERM);
}

TEST(End, AWorkerThatIgnoresTermIsKilledAfterTheGracePeriod) {
    Bench bench;
    bench.launch(0, "ignore-term");
    bench.next<Ready>(0);
    const auto began = steady_clock::now();
    bench.executor->terminate(0, 0.2);
    EXPECT_EQ(bench.next<Exited>(0).signal, SIGKILL);
    EXPECT_GE(seconds_since(began), 0.19);
    EXPECT_LT(seconds_since(began), 2);
}

TEST(End, WhatAStoppedSupervisorKeepsIsKilledWhenTheExecutorEnds) {
    Bench bench;
    bench.launch(0, "children=2;daemon=1");
    bench.next<Ready>(0);
    for (const pid_t supervisor : supervisors(bench.tag)) ::kill(supervisor, SIGSTOP);
    bench.executor->kill(0);
    bench.executor->end(milliseconds(50));
    EXPECT_TRUE(eventually([&] { return tagged(bench.tag).empty(); }));
}

TEST(End, AStoppedWorkerIsKilledAsWell) {
    Bench bench;
    bench.launch(0, "ignore-term");
    const auto pid = static_cast<pid_t>(bench.next<Ready>(0).hello.pid);
    ::kill(pid, SIGSTOP);
    bench.executor->terminate(0, 0.05);
    EXPECT_EQ(bench.next<Exited>(0).signal, SIGKILL);
}

TEST(End, KillIsAtOnceAlsoBeforeHello) {
    Bench bench;
    bench.launch(0, "nohello");
    bench.executor->kill(0);
    const auto exited = bench.next<Exited>(0);
    EXPECT_EQ(exited.signal, SIGKILL);
    EXPECT_FALSE(exited.out_of_memory_kill);
}

TEST(End, OrdersToAFreePlaceAreIgnored) {
    Bench bench;
    bench.executor->kill(5);
    bench.executor->terminate(5, 1);
    bench.executor->send(5, to_worker::Shutdown{});
    bench.launch(5, "exit=3");
    EXPECT_EQ(bench.next<Exited>(5).code, 3);
    bench.executor->kill(5);
    bench.launch(5);
    bench.next<Ready>(5);
}

class Descendants : public ::testing::TestWithParam<const char*> {};

TEST_P(Descendants, DieWithTheirWorkerBeforeItsEndIsTold) {
    Bench bench;
    bench.launch(0);
    bench.next<Ready>(0);
    bench.run_trial(0, std::string(GetParam()) + "@1;exit=5@2");
    bench.go_on(0, bench.next_message<from_worker::Reported>(0));
    const auto began = steady_clock::now();
    EXPECT_EQ(bench.next<Exited>(0).code, 5);
    EXPECT_LT(seconds_since(began), 2);
    EXPECT_EQ(workers(bench), 0U);
}

TEST_P(Descendants, DieWhenTheWorkerIsKilled) {
    Bench bench;
    bench.launch(0, GetParam());
    bench.next<Ready>(0);
    bench.executor->kill(0);
    EXPECT_EQ(bench.next<Exited>(0).signal, SIGKILL);
    EXPECT_EQ(workers(bench), 0U);
}

TEST_P(Descendants, DieWithTheExecutor) {
    Bench bench;
    for (WorkerIndex index : {0, 1}) bench.launch(index, GetParam());
    for (WorkerIndex index : {0, 1}) bench.next<Ready>(index);
    const auto began = steady_clock::now();
    bench.executor.reset();
    EXPECT_LT(seconds_since(began), 2);
    EXPECT_EQ(tagged(bench.tag).size(), 0U);
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
    Bench bench;
    const auto began = steady_clock::now();
    bench.launch(0, {"/bin/sh", "-c", "setsid sleep 1000 & echo done; exit 4"}, {});
    const auto exited = bench.next<Exited>(0);
    EXPECT_EQ(exited.code, 4);
    EXPECT_EQ(exited.log_tail, "done");
    EXPECT_LT(seconds_since(began), 2);
}

TEST(End, AWorkerThatClosesItsConnectionIsEndedAfterAWhile) {
    Bench bench;
    bench.launch(0);
    bench.next<Ready>(0);
    bench.run_trial(0, "disconnect@1");
    const auto exited = bench.next<Exited>(0);
    EXPECT_EQ(exited.signal, SIGKILL);
    EXPECT_EQ(exited.cause, "it closed its connection and did not exit");
}

}  // namespace
}  // namespace hpo::testing_execution
