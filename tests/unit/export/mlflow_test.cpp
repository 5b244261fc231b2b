// The folder that MLflow reads as its store of files.
#include <gmock/gmock.h>

#include "orchestrator/export/registry.hpp"
#include "support.hpp"

namespace hpo::exporting {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The folders of runs of the only experiment, by the name of the run.
std::map<std::string, fs::path> runs_in(const fs::path& root) {
    std::map<std::string, fs::path> runs;
    for (const auto& experiment : fs::directory_iterator(root))
        for (const auto& run : fs::directory_iterator(experiment))
            if (run.is_directory()) runs[text_of(run.path() / "tags/mlflow.runName")] = run.path();
    return runs;
}

TEST(MLflow, ATrialIsARunWithParametersMetricsAndItsOutcome) {
    const hpo::testing::TemporaryFolder folder;
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {0.5, 0.25}), small_trial(2, TrialState::failed, {}),
                     small_trial(3, TrialState::running, {0.75}), small_trial(4, TrialState::queued, {})};
    const auto written = mlflow_format.write(small_study(), record, as_it_is, folder.path(), "/shown");
    ASSERT_TRUE(written) << written.error().message;
    const auto runs = runs_in(folder.path());
    ASSERT_EQ(runs.size(), 3U) << "a trial that has not begun is no run";
    const fs::path run = runs.at("trial 1");
    EXPECT_EQ(text_of(run / "params/optimizer"), "adamw");
    EXPECT_EQ(text_of(run / "metrics/val_loss"), "1800000001250 0.5 1\n1800000001250 0.25 2\n");
    EXPECT_EQ(text_of(run / "tags/hpo.state"), "complete");
    EXPECT_THAT(text_of(run / "meta.yaml"),
                AllOf(HasSubstr("\nstatus: 3\n"), HasSubstr("\nend_time: 1800000011250\n"),
                      HasSubstr("artifact_uri: \"file:///shown/" + run.parent_path().filename().string() + "/")));
    EXPECT_THAT(text_of(runs.at("trial 2") / "meta.yaml"), HasSubstr("\nstatus: 4\n"));
    EXPECT_THAT(text_of(runs.at("trial 3") / "meta.yaml"),
                AllOf(HasSubstr("\nstatus: 1\n"), HasSubstr("end_time: null")));
    EXPECT_THAT(text_of(run.parent_path() / "meta.yaml"), HasSubstr("name: \"small\"\n"));
}

TEST(MLflow, TheValueHasAllItsDigits) {
    const hpo::testing::TemporaryFolder folder;
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {0.5})};
    record.trials[0].value = 1.25e-9;
    ASSERT_TRUE(mlflow_format.write(small_study(), record, as_it_is, folder.path(), folder.path()));
    EXPECT_EQ(std::stod(text_of(runs_in(folder.path()).at("trial 1") / "tags/hpo.value")), 1.25e-9);
}

TEST(MLflow, NoNameOfAMetricLeavesTheFolder) {
    const hpo::testing::TemporaryFolder folder;
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {0.5})};
    record.trials[0].curve[0].metrics = {{"a/../../../x", 1}, {"val/loss", 2}, {"val", 3}, {"f@1", 4}, {"..", 5}};
    ASSERT_TRUE(mlflow_format.write(small_study(), record, as_it_is, folder.path(), folder.path()));
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(runs_in(folder.path()).at("trial 1") / "metrics"))
        names.push_back(file.path().filename().string());
    EXPECT_THAT(names, ::testing::UnorderedElementsAre("a..........x", "val.loss", "val", "f_1", ".._"));
}

}  // namespace
}  // namespace hpo::exporting
