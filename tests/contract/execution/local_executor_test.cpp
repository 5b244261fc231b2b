// Workers that behave: launches, messages, logs, ends.

#include "tests/contract/execution/harness.hpp"

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using execution::LaunchFailed;
using execution::Ready;

TEST(LocalExecutor, StartsAWorkerThroughASupervisorAndRunsATrialToItsEnd) {
    ExecutorHarness harness;
    harness.launch(0);
    EXPECT_EQ(harness.next<Ready>(0).hello.backend, "cpu");
    harness.run_trial(0, "", 5);
    EXPECT_EQ(harness.next_message<from_worker::Started>(0).id, (AttemptId{1, 1}));
    EXPECT_EQ(harness.finish(0).outcome, Outcome::complete);
    harness.executor->send(0, to_worker::Shutdown{});
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.code, 0);
    EXPECT_EQ(exited.signal, 0);
    EXPECT_EQ(exited.cause, "");
    EXPECT_GT(exited.peak_bytes, 100'000);
}

TEST(LocalExecutor, AWarmWorkerRunsTrialAfterTrial) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    for (std::int64_t trial = 1; trial <= 20; ++trial) {
        harness.run_trial(0, "", 3, {trial, 1});
        const auto end = harness.finish(0);
        EXPECT_EQ(end.id.trial, trial);
        EXPECT_EQ(end.outcome, Outcome::complete);
    }
}

TEST(LocalExecutor, AnswersAPlan) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.executor->send(0, to_worker::Plan{7, {{"lr", 0.1}}, 3, 1});
    const auto answer = harness.next_message<from_worker::PlanAnswer>(0);
    EXPECT_EQ(answer.id, 7);
    EXPECT_GT(answer.footprint.host_bytes, 0);
}

}  // namespace
}  // namespace hpo::testing_execution
