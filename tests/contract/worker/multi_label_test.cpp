// Labels of which a sample may have any number, and weights of classes.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::test {
namespace {

Params labelled_params(const Params& changes = {}) {
    Params params = small_params();
    params.erase("label_smoothing");
    return with(with(params, {{"task", std::string("multi-label")},
                              {"classes", std::int64_t{5}},
                              {"noise", 0.2},
                              {"class_metrics", true}}),
                changes);
}

to_worker::Run labelled_run(const Params& params, std::int64_t steps) {
    to_worker::Run run = small_run(params, steps);
    run.objective = {"val_f1", Direction::maximize, Objective::At::best};
    return run;
}

class LabelsOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, LabelsOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(LabelsOn, AreLearntAndReported) {
    WorkerFixture worker(GetParam());
    FakeHost host;
    auto run = labelled_run(labelled_params(), 8);
    run.test = true;
    const auto finished = run_trial(run, worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    const Metrics& last = host.reports.back().metrics;
    EXPECT_LT(last.at("val_loss"), 0.7 * host.reports.front().metrics.at("val_loss"));
    EXPECT_GT(last.at("val_accuracy"), 0.8);
    EXPECT_GT(last.at("val_f1"), 0.8);
    EXPECT_GT(last.at("val_auc"), 0.92);
    EXPECT_GT(last.at("val_exact_match"), 0.3);
    EXPECT_LT(last.at("val_exact_match"), last.at("val_accuracy"));
    EXPECT_EQ(last.count("val_top5"), 0U);
    EXPECT_GT(finished.values.at("test_accuracy"), 0.8);
}

TEST_P(LabelsOn, TrialsInCompanyTrainAsEachWouldAlone) {
    for (const char* placement : {"device", "staged"})
        expect_the_curves_that_each_has_alone(
            GetParam(), 3,
            [&](std::int64_t number) {
                return labelled_params({{"lr", 0.002 * static_cast<double>(number)},
                                        {"batch_size", 40 + number},
                                        {"label_smoothing", 0.05 * static_cast<double>(number)},
                                        {"class_weights", std::string("balanced")},
                                        {"placement", std::string(placement)}});
            },
            1);
}

TEST_P(LabelsOn, ThePlanIsWhatIsAllocatedToTheByte) {
    WorkerFixture worker(GetParam());
    const Params weighed = labelled_params({{"class_weights", std::string("1,2,3,4,5")}});
    const auto plain = answer_plan({1, labelled_params(), 1, 5}, worker.context);
    const auto answer = answer_plan({1, weighed, 1, 5}, worker.context);
    ASSERT_EQ(answer.error, "");
    EXPECT_GT(answer.arena_bytes, plain.arena_bytes);
    FakeHost host;
    ASSERT_EQ(run_trial(labelled_run(weighed, 1), worker.context, host).outcome, Outcome::complete) << host.logged;
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
}

TEST(ClassWeightsInTraining, MakeARareClassFound) {
    // A third of the rows with a large x are rare: by the plain loss, none is predicted to be.
    const testing::TemporaryFolder folder;
    const std::string file = std::filesystem::path(folder.path()) / "table.csv";
    {
        std::ofstream out(file);
        out << "x,y\n";
        for (int i = 0; i < 900; ++i) {
            const int x = i * 37 % 100;
            out << x << ',' << (x > 60 && i % 3 == 0 ? "rare" : "common") << '\n';
        }
    }
    const auto f1_with = [&](const std::string& weights) {
        WorkerFixture worker;
        FakeHost host;
        auto run = labelled_run({{"format", std::string("csv")},
                                 {"path", file},
                                 {"target", std::string("y")},
                                 {"class_metrics", true},
                                 {"class_weights", weights},
                                 {"hidden", std::vector<std::int64_t>{16}},
                                 {"batch_size", std::int64_t{32}},
                                 {"lr", 0.01}},
                                10);
        const auto finished = run_trial(run, worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
        return host.reports.back().metrics.at("val_f1");
    };
    EXPECT_LT(f1_with("none"), 0.5);
    EXPECT_GT(f1_with("balanced"), 0.6);
    EXPECT_GT(f1_with("1, 6"), 0.6);
}

TEST(ClassWeightsInTraining, AreRefusedWhereTheyDoNotSuitTheData) {
    WorkerFixture worker;
    const auto error = [&](const Params& params) { return answer_plan({1, params, 1, 5}, worker.context).error; };
    EXPECT_EQ(error(labelled_params({{"class_weights", std::string("1, 2")}})),
              "training.class_weights: 2 numbers for 5 labels");
    EXPECT_THAT(error(labelled_params({{"class_weights", std::string("even")}})),
                Mentions("training.class_weights: \"even\"", "none", "balanced", "number"));
    EXPECT_THAT(
        error(labelled_params({{"task", std::string("regression")}, {"class_weights", std::string("balanced")}})),
        Mentions("training.class_weights:", "classes"));
}

}  // namespace
}  // namespace hpo::test
