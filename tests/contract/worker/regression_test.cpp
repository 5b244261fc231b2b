// Regression on synthetic data and on a table, with all features of classification.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using test::curve_of;
using test::FakeHost;
using test::FusedTrials;
using test::small_params;
using test::small_run;
using test::with;
using test::WorkerFixture;
using ::testing::HasSubstr;
using to_worker::Action;
namespace fs = std::filesystem;

class RegressionOnTheCpu : public ::testing::Test {
   protected:
    /// Returns the parameters for a table of 800 rows, and writes it at the first call. y depends on two numbers, one
    /// of which is sometimes missing, and on a category.
    [[nodiscard]] Params table_params() const {
        const std::string file = fs::path(folder_.path()) / "table.csv";
        if (!fs::exists(file)) {
            std::ofstream out(file);
            out << "a,b,c,y\n";
            for (int i = 0; i < 800; ++i) {
                const double a = (i * 37 % 100) / 10.0, b = (i * 53 % 97) / 20.0;
                out << a << ',' << (i % 13 == 5 ? "" : std::to_string(b)) << ',' << (i % 3 == 0 ? "up" : "down") << ','
                    << 1000 + 40 * std::sin(a / 2) + 10 * b + (i % 3 == 0 ? 60 : 0) << '\n';
            }
        }
        return {{"format", std::string("csv")},      {"path", file},
                {"target", std::string("y")},        {"hidden", std::vector<std::int64_t>{48, 32}},
                {"activation", std::string("gelu")}, {"norm", std::string("layer")},
                {"batch_size", std::int64_t{64}},    {"lr", 0.01}};
    }
    [[nodiscard]] Params embedding_params() const {
        return with(table_params(), {{"embedding_width", std::int64_t{5}}});
    }
    [[nodiscard]] Params synthetic_params() const {
        Params params = small_params();
        params.erase("label_smoothing");
        return with(params, {{"task", std::string("regression")}, {"noise", 0.1}});
    }
    static to_worker::Run run(const Params& params, std::int64_t steps) {
        to_worker::Run run = small_run(params, steps);
        run.objective = {"val_r2", Direction::maximize, Objective::At::best};
        return run;
    }

    const testing::TemporaryFolder folder_;
};

class RegressionOn : public RegressionOnTheCpu, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, RegressionOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(RegressionOn, LearnsATableAndReportsInTheTargetsUnits) {
    WorkerFixture worker(GetParam());
    FakeHost host;
    auto trial = run(table_params(), 12);
    trial.test = true;
    const auto finished = run_trial(trial, worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    const Metrics& last = host.reports.back().metrics;
    EXPECT_GT(last.at("val_r2"), 0.9);
    EXPECT_LT(last.at("loss"), 0.2);
    const DeviceData& data = *worker.context.data;
    EXPECT_NEAR(data.folds.front().facts.target_mean, 1050, 15);
    EXPECT_NEAR(last.at("val_mse"), last.at("val_loss") * std::pow(data.folds.front().facts.target_deviation, 2),
                1e-6 * last.at("val_mse"));
    EXPECT_LT(last.at("val_mae"), std::sqrt(last.at("val_mse")) * 1.0001);
    EXPECT_GT(last.at("val_mae"), 0.3 * std::sqrt(last.at("val_mse")));
    EXPECT_NEAR(last.at("val_r2"), 1 - last.at("val_loss") / data.folds.front().validation_variance, 1e-12);
    EXPECT_GT(finished.values.at("test_r2"), 0.9);
    EXPECT_THAT(host.logged, HasSubstr("task=regression"));
    EXPECT_THAT(host.logged, HasSubstr(" r2 0.9"));
}

TEST_P(RegressionOn, TrialsInCompanyTrainAsEachWouldAloneStagedOrNot) {
    const auto numbered = [&](std::int64_t number) {
        const bool staged = number > 2;  // on the table
        auto trial = run(with(staged ? embedding_params() : synthetic_params(),
                              {{"lr", 0.002 * static_cast<double>(number)},
                               {"batch_size", 40 + number},
                               {"optimizer", std::string(number == 2 ? "sgd" : "adamw")},
                               {"placement", std::string(staged ? "staged" : "device")}}),
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
            EXPECT_EQ(fused.ended.at(trial).outcome, Outcome::complete) << fused.ended.at(trial).message;
            ASSERT_EQ(fused.hosts[trial].reports.size(), 2U);
            EXPECT_EQ(curve_of(fused.hosts[trial]), fused.alone(numbered(trial))) << trial;
        }
    }
}

TEST_P(RegressionOn, ThePlanIsWhatIsAllocatedToTheByte) {
    for (const char* placement : {"device", "staged"}) {
        const Params params = with(std::string(placement) == "device" ? embedding_params() : table_params(),
                                   {{"placement", std::string(placement)}});
        WorkerFixture worker(GetParam());
        const auto answer = answer_plan({1, params, 1, 5}, worker.context);
        ASSERT_EQ(answer.error, "");
        FakeHost host;
        ASSERT_EQ(run_trial(run(params, 1), worker.context, host).outcome, Outcome::complete) << host.logged;
        EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes())) << placement;
        EXPECT_EQ(answer.data_bytes, worker.context.data->bytes()) << placement;
    }
}

TEST_F(RegressionOnTheCpu, APausedTrialOnATableGoesOnToTheSameBits) {
    const auto in = [&](const char* name, bool resume) {
        auto trial = run(embedding_params(), 5);
        trial.folder = fs::path(folder_.path()) / name;
        trial.resume = resume;
        return trial;
    };
    WorkerFixture worker;
    FakeHost whole, first, second;
    ASSERT_EQ(run_trial(in("whole", false), worker.context, whole).outcome, Outcome::complete);
    first.on_report = [](const Report& report) { return report.step == 3 ? Action::pause : Action::go_on; };
    ASSERT_EQ(run_trial(in("paused", false), worker.context, first).outcome, Outcome::paused);
    WorkerFixture later;
    ASSERT_EQ(run_trial(in("paused", true), later.context, second).outcome, Outcome::complete);
    EXPECT_EQ(second.from_step, 3);
    EXPECT_EQ(second.reports.back().metrics, whole.reports.back().metrics);
    const auto bytes = [&](const char* name) {
        std::ifstream file(fs::path(folder_.path()) / name / "last.ckpt", std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EQ(bytes("paused"), bytes("whole"));
}

TEST_F(RegressionOnTheCpu, ACheckpointOfAnExplicitTaskIsThatOfTheOneThatTheDataHas) {
    auto trial = small_run(with(small_params(), {{"task", std::string("classification")}}), 3);
    trial.folder = fs::path(folder_.path()) / "trial";
    WorkerFixture worker;
    FakeHost before, after;
    before.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    ASSERT_EQ(run_trial(trial, worker.context, before).outcome, Outcome::paused);
    trial.params.erase("task");
    trial.resume = true;
    ASSERT_EQ(run_trial(trial, worker.context, after).outcome, Outcome::complete);
    EXPECT_EQ(after.from_step, 2) << after.logged;
}

TEST_F(RegressionOnTheCpu, WhatIsOfClassesIsRefused) {
    const auto message = [&](const Params& changes, const char* metric) {
        WorkerFixture worker;
        FakeHost host;
        auto trial = run(with(synthetic_params(), changes), 1);
        trial.objective.metric = metric;
        return run_trial(trial, worker.context, host).message;
    };
    EXPECT_THAT(message({{"label_smoothing", 0.1}}, "val_r2"),
                Mentions("training.label_smoothing: ", "classes", "number"));
    EXPECT_THAT(message({{"embedding_width", std::int64_t{5}}}, "val_r2"),
                MentionsInOrder("model.embedding_width: ", "no categorical", "data.categorical"));
    EXPECT_THAT(message({}, "val_accuracy"), Mentions("objective.metric: val_accuracy", "not one",
                                                      "loss, val_loss, val_mse, val_mae, val_r2", "regression"));
    EXPECT_THAT(message({{"task", std::string("classification")}}, "val_r2"),
                MentionsInOrder("objective.metric: val_r2", "not one",
                                "loss, val_loss, val_accuracy, val_f1, val_top5, val_auc", "classification"));
    EXPECT_THAT(message({{"task", std::string("classification")}, {"class_metrics", true}}, "val_top5"),
                MentionsInOrder("objective.metric: val_top5", "1", "5 classes", "val_accuracy, val_f1", "val_loss"));
}

TEST_F(RegressionOnTheCpu, APlanThatIsAskedToTellsWhatTheDataIs) {
    WorkerFixture worker;
    EXPECT_THAT(answer_plan({1, table_params(), 1, 5, true}, worker.context).data,
                ::testing::Contains("target: y, numbers from 961.369 to 1145.85"));
    EXPECT_THAT(answer_plan({1, embedding_params(), 1, 5, true}, worker.context).data,
                ::testing::Contains(MentionsInOrder("embeddings: ", "3 levels", "2 numbers", "at most 2", "5 inputs")));
    EXPECT_THAT(answer_plan({1, small_params(), 1, 5, true}, worker.context).data,
                ::testing::ElementsAre(MentionsInOrder("1000 samples", "250", "20 features", "5 classes")));
    EXPECT_THAT(answer_plan({1, table_params(), 1, 5}, worker.context).data, ::testing::IsEmpty());
}

}  // namespace
}  // namespace hpo
