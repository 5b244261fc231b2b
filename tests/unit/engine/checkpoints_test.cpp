#include "orchestrator/engine/checkpoints.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

TEST(CheckpointKeeper, KeepsTheBestStepsOfTheBestFiveTrialsAndNothingElse) {
    const testing::TemporaryFolder place;
    const StudyFolder folder{place.path()};
    Study study;
    study.objective.direction = Direction::maximize;
    StudyRecord record;
    CheckpointKeeper keeper(study, folder, record);
    for (std::int64_t number = 1; number <= 8; ++number) {
        TrialRecord trial;
        trial.number = number;
        trial.value = 0.1 * static_cast<double>(number % 7);  // 7 is the worst, then 1 and 8, then 2, 3, ...
        trial.state = number == 6 ? TrialState::diverged : TrialState::complete;
        record.trials.push_back(trial);
        std::filesystem::create_directories(folder.checkpoints(number));
        for (const char* name : {"last.ckpt", "best.ckpt"}) std::ofstream(folder.checkpoints(number) / name) << "x";
        keeper.trial_ended(record.trials.back());
        keeper.trial_ended(record.trials.back());  // told twice, it counts once
    }
    std::vector<std::int64_t> best, last;
    for (std::int64_t number = 1; number <= 8; ++number) {
        if (std::filesystem::exists(folder.checkpoints(number) / "best.ckpt")) best.push_back(number);
        if (std::filesystem::exists(folder.checkpoints(number) / "last.ckpt")) last.push_back(number);
    }
    EXPECT_THAT(best, ::testing::ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(last, ::testing::IsEmpty());
}

}  // namespace
}  // namespace hpo
