// Sequences with a target for each step. A row of the loss is a step, and batch sizes count samples.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/contract/worker/fused_trials.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::test {
namespace {

constexpr std::int64_t steps = 6;

Params sequences(const Params& changes = {}) {
    return with(with(small_params(), {{"steps", steps}, {"samples", std::int64_t{400}}, {"noise", 1.0}}), changes);
}

class SequencesOn : public ::testing::TestWithParam<const char*> {
   protected:
    [[nodiscard]] std::vector<Report> reports(const Params& params, std::int64_t epochs) const {
        WorkerFixture worker(GetParam());
        FakeHost host;
        auto run = small_run(params, epochs);
        if (params.contains("task")) run.objective.metric = "val_r2";
        const auto finished = run_trial(run, worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
        return host.reports;
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, SequencesOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(SequencesOn, LossAndAccuracyAreMeansOverSteps) {
    // With such a rate nothing is learnt: the first outputs are small, and each class is as likely as the others.
    const auto untrained = reports(sequences({{"lr", 1e-9}, {"label_smoothing", 0.0}}), 1).back().metrics;
    EXPECT_NEAR(untrained.at("loss"), std::log(5), 0.3);
    EXPECT_NEAR(untrained.at("val_loss"), std::log(5), 0.3);
    const auto trained = reports(sequences(), 12).back().metrics;
    EXPECT_GT(trained.at("val_accuracy"), 0.95);
    EXPECT_LE(trained.at("val_accuracy"), 1.0);
}

TEST_P(SequencesOn, NumbersArePredictedForEachStep) {
    Params params = sequences({{"task", std::string("regression")}, {"noise", 0.1}, {"dropout", 0.0}});
    params.erase("label_smoothing");
    const auto trained = reports(params, 20).back().metrics;
    EXPECT_GT(trained.at("val_r2"), 0.3);
}

TEST_P(SequencesOn, MicroBatchesDrawAsTheWholeBatchWould) {
    const auto whole = reports(sequences({{"dropout", 0.4}}), 1).back().metrics;
    const auto parts = reports(sequences({{"dropout", 0.4}, {"accumulation", std::int64_t{3}}}), 1).back().metrics;
    EXPECT_NEAR(whole.at("loss"), parts.at("loss"), 1e-4);
}

TEST_P(SequencesOn, TrialsInCompanyTrainAsEachWouldAloneStagedOrNot) {
    const auto numbered = [&](std::int64_t number) {
        auto trial =
            small_run(sized_for(GetParam(), sequences({{"lr", 0.002 * static_cast<double>(number)},
                                                       {"batch_size", 40 + number},
                                                       {"placement", std::string(number > 2 ? "staged" : "device")}})),
                      2);
        trial.id = {number, 1};
        trial.seed = 100 + static_cast<std::uint64_t>(number);
        return trial;
    };
    for (const std::int64_t first : {1, 3}) {
        FusedTrials fused(GetParam());
        fused.add(numbered(first));
        fused.add(numbered(first + 1));
        fused.finish();
        for (const std::int64_t trial : {first, first + 1}) {
            ASSERT_EQ(fused.hosts[trial].reports.size(), 2U) << fused.ended.at(trial).message;
            EXPECT_EQ(curve_of(fused.hosts[trial]), fused.alone(numbered(trial))) << trial;
        }
    }
}

TEST_P(SequencesOn, ThePlanIsWhatIsAllocatedToTheByte) {
    for (const char* placement : {"device", "staged"}) {
        const Params params = sequences({{"placement", std::string(placement)}});
        WorkerFixture worker(GetParam());
        const auto answer = answer_plan({1, params, 1, 5}, worker.context);
        ASSERT_EQ(answer.error, "");
        FakeHost host;
        ASSERT_EQ(run_trial(small_run(params, 1), worker.context, host).outcome, Outcome::complete) << host.logged;
        EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes())) << placement;
        EXPECT_EQ(answer.data_bytes, worker.context.data->bytes()) << placement;
    }
}

TEST_P(SequencesOn, TheDataIsDescribedStepByStep) {
    WorkerFixture worker(GetParam());
    EXPECT_THAT(answer_plan({1, sequences(), 1, 5, true}, worker.context).data,
                ::testing::ElementsAre(MentionsInOrder("400 samples", "100", "6 steps x 20 features", "5 classes")));
}

}  // namespace
}  // namespace hpo::test
