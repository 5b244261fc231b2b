// Trials with k-fold cross-validation: on synthetic classes, whose samples all folds share, and on tables, which are
// standardised for each fold.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/training/trial_messages.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using to_worker::Action;
namespace fs = std::filesystem;

Params folded_params(const Params& changes = {}) {
    return with(with(small_params(), {{"samples", std::int64_t{301}}, {"folds", std::int64_t{3}}}), changes);
}

class FoldTrials : public ::testing::Test {
   protected:
    /// A regression whose rows belong to five groups of different sizes.
    [[nodiscard]] Params table_params(const Params& changes = {}) const {
        const std::string file = fs::path(folder_.path()) / "table.csv";
        if (!fs::exists(file)) {
            std::ofstream out(file);
            out << "a,b,who,y\n";
            for (int i = 0; i < 240; ++i) {
                const double a = (i * 37 % 100) / 10.0, b = (i * 53 % 97) / 20.0;
                const char* who = i % 2 == 0   ? "ann"
                                  : i % 3 == 0 ? "bob"
                                  : i % 5 == 0 ? "cid"
                                  : i % 7 == 0 ? "dee"
                                               : "eve";
                out << a << ',' << b << ',' << who << ',' << 40 * std::sin(a / 2) + 10 * b << '\n';
            }
        }
        return with({{"format", std::string("csv")},
                     {"path", file},
                     {"target", std::string("y")},
                     {"hidden", std::vector<std::int64_t>{16}},
                     {"batch_size", std::int64_t{32}},
                     {"folds", std::int64_t{3}},
                     {"lr", 0.01}},
                    changes);
    }
    [[nodiscard]] static to_worker::Run on_numbers(const Params& params, std::int64_t steps) {
        auto run = small_run(params, steps);
        run.objective = {"val_loss", Direction::minimize, Objective::At::best};
        return run;
    }

    const hpo::testing::TemporaryFolder folder_;
};

class FoldTrialsOn : public FoldTrials, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, FoldTrialsOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

/// The validation loss of one fold after each step, trained alone.
std::vector<double> fold_alone(WorkerFixture& worker, const to_worker::Run& run, int fold) {
    Configuration configuration = *read_configuration(run.params);
    configuration.data.placement = Placement::device;
    const auto data = *load_to_device(*worker.device, configuration.data, run.data_seed);
    GroupPlan plan = *plan_group(configuration, data->shape, data->sizes, 1);
    EXPECT_EQ(plan.replicas, 3);
    const auto arena = *worker.device->allocate(plan.arena.bytes);
    const ReplicaSpec spec{configuration.training, run.seed + static_cast<std::uint64_t>(fold) * 0x9E3779B97F4A7C15U,
                           nullptr, fold};
    Trainer trainer(*worker.device, *arena, std::move(plan), *data, {&spec, 1}, run.steps, worker.clock);
    std::vector<double> losses;
    for (std::int64_t step = 0; step < run.steps; ++step) {
        trainer.train_step([] { return true; });
        trainer.evaluate_validation([] { return true; });
        losses.push_back(trainer.evaluation_of(0).loss);
    }
    return losses;
}

TEST_P(FoldTrialsOn, ATrialReportsTheMeanOfItsFoldsAndTheStandardError) {
    for (const Params& params : {folded_params(), table_params(), table_params({{"group", std::string("who")}})}) {
        WorkerFixture worker(GetParam()), other(GetParam());
        FakeHost host;
        const auto run = on_numbers(params, 2);
        ASSERT_EQ(run_trial(run, worker.context, host).outcome, Outcome::complete) << host.logged;
        std::vector<std::vector<double>> folds;
        for (int fold = 0; fold < 3; ++fold) folds.push_back(fold_alone(other, run, fold));
        EXPECT_NE(folds[0], folds[1]);
        for (std::size_t step = 0; step < 2; ++step) {
            const double mean = (folds[0][step] + folds[1][step] + folds[2][step]) / 3;
            double squares = 0;
            for (const auto& fold : folds) squares += (fold[step] - mean) * (fold[step] - mean);
            const Metrics& reported = host.reports.at(step).metrics;
            EXPECT_NEAR(reported.at("val_loss"), mean, 1e-12);
            EXPECT_NEAR(reported.at("val_loss_se"), std::sqrt(squares / 2 / 3), 1e-12);
        }
        EXPECT_THAT(host.logged, HasSubstr(" +- "));
    }
}

TEST_P(FoldTrialsOn, TrialsInCompanyTrainAsEachWouldAloneStagedOrNot) {
    for (const char* placement : {"device", "staged"})
        expect_the_curves_that_each_has_alone(
            GetParam(), 3,
            [&](std::int64_t number) {
                return folded_params({{"lr", 0.002 * static_cast<double>(number)},
                                      {"batch_size", 20 + number},
                                      {"placement", std::string(placement)}});
            },
            2);
}

TEST_P(FoldTrialsOn, ThePlanIsWhatIsAllocatedToTheByte) {
    for (const Params& params : {folded_params(), table_params({{"group", std::string("who")}})})
        for (const int slots : {1, 4}) {
            WorkerFixture worker(GetParam());
            worker.context.slots = slots;
            const auto answer = answer_plan({1, params, 1, 5}, worker.context);
            ASSERT_EQ(answer.error, "");
            FakeHost host;
            ASSERT_EQ(run_trial(on_numbers(params, 1), worker.context, host).outcome, Outcome::complete) << host.logged;
            EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
            EXPECT_EQ(answer.data_bytes, worker.context.data->bytes());
        }
}

TEST_F(FoldTrials, APausedTrialGoesOnToTheSameBits) {
    for (const Params& params : {folded_params(), table_params()}) {
        const hpo::testing::TemporaryFolder folder;
        const auto in = [&](const char* name, bool resume) {
            auto run = on_numbers(params, 4);
            run.folder = fs::path(folder.path()) / name;
            run.resume = resume;
            run.test = true;
            return run;
        };
        WorkerFixture worker, later;
        FakeHost whole, first, second;
        const auto at_once = run_trial(in("whole", false), worker.context, whole);
        ASSERT_EQ(at_once.outcome, Outcome::complete);
        first.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
        ASSERT_EQ(run_trial(in("paused", false), worker.context, first).outcome, Outcome::paused);
        const auto resumed = run_trial(in("paused", true), later.context, second);
        ASSERT_EQ(resumed.outcome, Outcome::complete);
        EXPECT_EQ(second.from_step, 2);
        EXPECT_EQ(second.reports.back().metrics, whole.reports.back().metrics);
        EXPECT_EQ(resumed.values, at_once.values);
        EXPECT_TRUE(resumed.values.contains("test_loss_se"));
    }
}

TEST_F(FoldTrials, StandardisationIsFittedOnTheTrainingPartOfEachFold) {
    WorkerFixture worker;
    Configuration configuration = *read_configuration(table_params());
    configuration.data.placement = Placement::device;
    const auto data = *load_to_device(*worker.device, configuration.data, 5);
    ASSERT_EQ(data->folds.size(), 3U);
    EXPECT_NE(data->folds[0].facts.encoding, data->folds[1].facts.encoding);
    EXPECT_NE(data->folds[1].facts.target_mean, data->folds[2].facts.target_mean);
}

TEST_F(FoldTrials, AFoldThatDivergesEndsTheTrial) {
    WorkerFixture worker;
    FakeHost host;
    const auto finished = run_trial(on_numbers(table_params({{"optimizer", std::string("sgd")}, {"lr", 1000.0}}), 3),
                                    worker.context, host);
    EXPECT_EQ(finished.outcome, Outcome::diverged);
    EXPECT_THAT(finished.message, HasSubstr("loss"));
}

TEST_F(FoldTrials, AModelIsNotSaved) {
    WorkerFixture worker;
    FakeHost host;
    auto run = small_run(folded_params(), 1);
    run.save = fs::path(folder_.path()) / "model.safetensors";
    const auto finished = run_trial(run, worker.context, host);
    EXPECT_EQ(finished.outcome, Outcome::failed);
    EXPECT_THAT(finished.message, Mentions("data.validation.folds: 3 folds", "models"));
}

TEST_F(FoldTrials, WhatCannotBeFoldedIsRefusedWithACure) {
    WorkerFixture worker;
    const auto error = [&](const Params& params) { return answer_plan({1, params, 1, 5}, worker.context).error; };
    EXPECT_THAT(error(folded_params({{"subset", std::int64_t{2}}, {"batch_size", std::int64_t{1}}})),
                Mentions("data.validation.folds: 3 folds", "of 2 samples", "fewer"));
    EXPECT_THAT(error(folded_params({{"batch_size", std::int64_t{300}}})),
                Mentions("training.batch_size: 300", "more than", "201 samples", "fold"));
    EXPECT_THAT(error(table_params({{"folds", std::int64_t{5}}, {"group", std::string("who")}})),
                Mentions("data.validation.folds: 5 folds", "6 groups", "\"who\" has 5", "fewer"));
    EXPECT_THAT(error(table_params({{"split", std::string("time")}})),
                HasSubstr("data.validation.folds: with data.split: time"));
    EXPECT_THAT(error(folded_params({{"validation", 0.2}})), HasSubstr("exclude"));
    EXPECT_THAT(error({{"format", std::string("text")},
                       {"path", table_params().at("path")},
                       {"window", std::int64_t{8}},
                       {"type", std::string("transformer")},
                       {"folds", std::int64_t{3}}}),
                Mentions("data.validation.folds:", "order"));
}

TEST(MeanOfFolds, IsTheMeanWithItsStandardError) {
    const Metrics folds[] = {{{"val_loss", 1.0}}, {{"val_loss", 2.0}}, {{"val_loss", 6.0}}};
    const Metrics mean = mean_of_folds(folds);
    EXPECT_DOUBLE_EQ(mean.at("val_loss"), 3);
    EXPECT_DOUBLE_EQ(mean.at("val_loss_se"), std::sqrt(7.0 / 3));
}

}  // namespace
}  // namespace hpo::test
