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
    study.source = "study: a";
    study.budget.trials = 3;
    using enum TrialState;
    EXPECT_FALSE(is_finished(study, {}, study.source));
    EXPECT_FALSE(is_finished(study, record_of({complete, running}), study.source));
    EXPECT_TRUE(is_finished(study, record_of({complete, failed, stopped}), study.source));
    EXPECT_TRUE(is_finished(study, record_of({complete, failed, stopped}), "study: a, with other stopping rules"));
    study.budget.trials = 4;  // the budget was raised
    EXPECT_FALSE(is_finished(study, record_of({complete, failed, queued}), study.source));
}

TEST(StudyWatch, AStudyThatEndedEarlyIsFinishedUntilItsFileChanges) {
    Study study;
    study.source = "study: a";
    study.budget.trials = 3;
    using enum TrialState;
    StudyRecord record = record_of({complete, complete});
    for (const char* over :
         {"every configuration of the space was tried", "every point of the grid was tried",
          "every configuration that is allowed was tried", "no further configuration was found that is allowed",
          "2 trials without a better best (budget.patience)", "trial budget reached"}) {
        record.end_reason = over;
        EXPECT_TRUE(is_finished(study, record, study.source)) << over;
        EXPECT_FALSE(is_finished(study, record, "study: a, of 2 trials")) << over;
    }
    record.held = true;  // the next trial is being proposed
    EXPECT_FALSE(is_finished(study, record, study.source));
    record.held = false;
    for (const char* cut : {"interrupted", "terminated", "stopped by hpo stop", "6 trials failed in a row", ""}) {
        record.end_reason = cut;
        EXPECT_FALSE(is_finished(study, record, study.source)) << cut;
    }
}

TEST(StudyWatch, EndedTrialsCountMoreThanSteps) {
    using enum TrialState;
    EXPECT_GT(progress_of(record_of({complete}, 1)), progress_of(record_of({running}, 9)));
    EXPECT_GT(progress_of(record_of({running}, 2)), progress_of(record_of({running}, 1)));
    EXPECT_EQ(progress_of(StudyRecord{}), Progress{});
}

}  // namespace
}  // namespace hpo::slurm
