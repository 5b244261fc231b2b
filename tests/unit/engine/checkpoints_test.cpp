#include "orchestrator/engine/checkpoints.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A study whose trials end one after the other, each with files in its folder.
class Keeping : public ::testing::Test {
   protected:
    Keeping() { study.objective.direction = Direction::maximize; }

    /// Adds the next trial in this state and writes its files.
    const TrialRecord& trial(TrialState state, std::optional<double> value, const std::vector<std::string>& files) {
        TrialRecord trial;
        trial.number = static_cast<std::int64_t>(record.trials.size()) + 1;
        trial.value = value;
        trial.state = state;
        record.trials.push_back(trial);
        fs::create_directories(folder.checkpoints(trial.number));
        for (const std::string& name : files) std::ofstream(folder.checkpoints(trial.number) / name) << "x";
        return record.trials.back();
    }
    /// Returns the trials whose folder has this file, or all trials with a folder if it is "".
    std::vector<std::int64_t> with(const std::string& name) const {
        std::vector<std::int64_t> trials;
        for (const TrialRecord& trial : record.trials)
            if (fs::exists(folder.checkpoints(trial.number) / name)) trials.push_back(trial.number);
        return trials;
    }

    testing::TemporaryFolder index;
    StudyFolder folder{index.path()};
    Study study;
    StudyRecord record;
};

TEST_F(Keeping, TheBestStepsOfTheBestFiveNativeTrialsAndNothingElseOfHposOwn) {
    CheckpointKeeper keeper(study, folder, record);
    for (std::int64_t number = 1; number <= 8; ++number) {
        const auto state = number == 6 ? TrialState::diverged : TrialState::complete;
        const TrialRecord& ended = trial(state, 0.1 * static_cast<double>(number % 7),  // 7 is the worst, then 1 and 8
                                         {"last.ckpt", "best.ckpt", "last.ckpt.tmp"});
        keeper.trial_ended(ended);
        keeper.trial_ended(ended);  // a repeated call has no effect
    }
    EXPECT_THAT(with("best.ckpt"), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(with("last.ckpt"), IsEmpty());
    EXPECT_THAT(with("last.ckpt.tmp"), IsEmpty());
    EXPECT_THAT(with(""), ElementsAre(1, 2, 3, 4, 5)) << "an empty folder is nobody's";
}

TEST_F(Keeping, OfTheBestByTheirMeanWhereConfigurationsHaveSeveralSeeds) {
    study.keep.checkpoints = 2;
    CheckpointKeeper keeper(study, folder, record);
    const auto ends = [&](double value) { keeper.trial_ended(trial(TrialState::complete, value, {"best.ckpt"})); };
    ends(0.9), ends(0.5);
    trial(TrialState::complete, 0.1, {"best.ckpt"});
    record.trials.back().repeat_of = 1;
    add_seed(record.trial(1), record.trials.back(), study.objective);
    record.trial(1).value = 0.4;
    keeper.trial_ended(record.trials.back());
    EXPECT_THAT(with("best.ckpt"), ElementsAre(1, 2)) << "of a configuration those of the first seed";
    ends(0.6);
    EXPECT_THAT(with("best.ckpt"), ElementsAre(2, 4)) << "0.4 is the least now";
}

TEST_F(Keeping, OfSeveralObjectivesTheParetoFrontAndNothingElse) {
    study.objective.further = {{"size", Direction::minimize}};
    CheckpointKeeper keeper(study, folder, record);
    for (const auto& [accuracy, size] :
         std::vector<std::pair<double, double>>{{0.5, 5}, {0.9, 9}, {0.4, 6}, {0.6, 4}}) {
        trial(TrialState::complete, accuracy, {"best.ckpt"});
        record.trials.back().best_step = 1;
        record.trials.back().curve = {{1, {{"size", size}}}};
        keeper.trial_ended(record.trials.back());
    }
    EXPECT_THAT(with("best.ckpt"), ElementsAre(2, 4)) << "trial 4 took the place of trial 1; trial 3 never had one";
}

TEST_F(Keeping, FilesOfAScriptStayInAnyFinalState) {
    study.worker = ScriptWorker{.command = {"script"}};
    study.keep.checkpoints.reset();
    CheckpointKeeper keeper(study, folder, record);
    for (std::int64_t number = 1; number <= 12; ++number)
        keeper.trial_ended(trial(number % 3 == 0 ? TrialState::failed : TrialState::complete,
                                 static_cast<double>(number), {"model.pt", "last.ckpt", "debug.txt"}));
    EXPECT_EQ(with("model.pt").size(), 12u);
    EXPECT_EQ(with("last.ckpt").size(), 12u);
    EXPECT_EQ(with("debug.txt").size(), 12u);
}

TEST_F(Keeping, AScriptsCheckpointsAndFoldersGoWhereTheStudySaysSo) {
    study.worker = ScriptWorker{.command = {"script"}};
    study.keep = {.checkpoints = 1, .folders = 2};
    CheckpointKeeper keeper(study, folder, record);
    for (const double value : {0.3, 0.5, 0.1, 0.4})
        keeper.trial_ended(trial(TrialState::complete, value, {"model.pt", "last.ckpt", "last.ckpt.ahead"}));
    EXPECT_THAT(with("last.ckpt"), ElementsAre(2));
    EXPECT_THAT(with("last.ckpt.ahead"), ElementsAre(2));
    EXPECT_THAT(with("model.pt"), ElementsAre(2, 4));
    EXPECT_THAT(with(""), ElementsAre(2, 4));
}

TEST_F(Keeping, OtherFilesInANativeTrialsFolderStay) {
    CheckpointKeeper keeper(study, folder, record);
    keeper.trial_ended(trial(TrialState::failed, {}, {"last.ckpt", "best.ckpt", "notes.txt"}));
    EXPECT_THAT(with("best.ckpt"), IsEmpty());
    EXPECT_THAT(with("notes.txt"), ElementsAre(1));
}

TEST_F(Keeping, ASessionBeginsWithWhatEarlierOnesLeft) {
    study.keep.checkpoints = 2;
    for (const double value : {0.1, 0.2, 0.3}) trial(TrialState::complete, value, {"last.ckpt", "best.ckpt"});
    trial(TrialState::paused, 0.05, {"last.ckpt", "best.ckpt"});
    CheckpointKeeper keeper(study, folder, record);
    keeper.begin();
    EXPECT_THAT(with("best.ckpt"), ElementsAre(2, 3, 4)) << "of the ended ones the best two";
    EXPECT_THAT(with("last.ckpt"), ElementsAre(4)) << "the paused one goes on from it";
    keeper.trial_ended(trial(TrialState::complete, 0.4, {"last.ckpt", "best.ckpt"}));
    EXPECT_THAT(with("best.ckpt"), ElementsAre(3, 4, 5)) << "not two more in each session";
}

TEST_F(Keeping, AFolderThatIsALinkIsLeftAlone) {
    const fs::path elsewhere = index.path() / "elsewhere";
    CheckpointKeeper keeper(study, folder, record);
    const TrialRecord& ended = trial(TrialState::complete, 0.1, {});
    fs::create_directory(elsewhere);
    std::ofstream(elsewhere / "last.ckpt") << "somebody's";
    fs::remove(folder.checkpoints(1));
    fs::create_directory_symlink(elsewhere, folder.checkpoints(1));
    keeper.trial_ended(ended);
    EXPECT_TRUE(fs::exists(elsewhere / "last.ckpt"));
}

}  // namespace
}  // namespace hpo
