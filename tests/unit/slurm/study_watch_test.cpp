#include "orchestrator/slurm/study_watch.hpp"

#include <gtest/gtest.h>

namespace hpo::slurm {
namespace {

StudyRecord record_of(std::initializer_list<TrialState> states, std::int64_t steps = 0) {
    StudyRecord record;
    for (const TrialState state : states) {
        TrialRecord trial{.number = static_cast<std::int64_t>(record.trials.size()) + 1, .state = state};
        if (steps > 0) trial.curve = {{.step = steps}};
        record.trials.push_back(trial);
    }
    return record;
}

TEST(StudyWatch, AStudyIsFinishedWhenNoTrialIsLeft) {
    Study study;
    study.budget.trials = 3;
    using enum TrialState;
    EXPECT_FALSE(is_finished(study, {}));
    EXPECT_FALSE(is_finished(study, record_of({complete, running})));
    EXPECT_TRUE(is_finished(study, record_of({complete, failed, stopped})));
    EXPECT_TRUE(is_finished(study, record_of({complete, complete})));  // the space has no more
    StudyRecord held = record_of({complete, complete});
    held.held = true;  // or the next is being proposed
    EXPECT_FALSE(is_finished(study, held));
    study.budget.trials = 4;  // the budget was raised
    EXPECT_FALSE(is_finished(study, record_of({complete, failed, queued})));
}

TEST(StudyWatch, EndedTrialsCountMoreThanSteps) {
    using enum TrialState;
    EXPECT_GT(progress_of(record_of({complete}, 1)), progress_of(record_of({running}, 9)));
    EXPECT_GT(progress_of(record_of({running}, 2)), progress_of(record_of({running}, 1)));
    EXPECT_EQ(progress_of(StudyRecord{}), Progress{});
}

}  // namespace
}  // namespace hpo::slurm
