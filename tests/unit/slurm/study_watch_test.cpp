#include "orchestrator/slurm/study_watch.hpp"

#include <gtest/gtest.h>

#include "orchestrator/store/store.hpp"
#include "orchestrator/study/study_file.hpp"
#include "tests/support/sample_study.hpp"
#include "tests/support/temporary_folder.hpp"

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
    record.end = SessionEnd::finished;
    EXPECT_TRUE(is_finished(study, record, study.source));
    EXPECT_FALSE(is_finished(study, record, "study: a, of 2 trials"));
    record.held = true;  // the next trial is being proposed
    EXPECT_FALSE(is_finished(study, record, study.source));
    record.held = false;
    using End = SessionEnd;
    for (const End cut : {End::none, End::out_of_time, End::interrupted, End::at_limit, End::failed}) {
        record.end = cut;
        EXPECT_FALSE(is_finished(study, record, study.source)) << to_text(cut);
    }
}

TEST(StudyWatch, ASessionFromBeforeTheJobDoesNotFinishTheStudy) {
    const testing::TemporaryFolder temporary;
    const StudyFolder folder{temporary.path()};
    const Study study = *parse_stored_study(testing::sample_yaml, "s.yaml");
    const auto store = *open_store(folder.database());
    ASSERT_TRUE(store->set_source(study.source));
    const auto session = [&](std::int64_t trial, SessionEnd end) {
        for (const Event& event :
             {Event{event::SessionStarted{"host", 1, ""}}, Event{event::Proposed{trial, {0.5, 0.5, 0.25}, {}}},
              Event{event::Finished{trial, 1}}, Event{event::SessionEnded{1, "", end}}})
            ASSERT_TRUE(store->append(event));
        ASSERT_TRUE(store->settle());
    };
    session(1, SessionEnd::finished);
    RunObserver observer;
    StudyWatch watch(study, folder, observer);
    watch.submitted();
    watch.read();
    EXPECT_FALSE(watch.finished());
    session(2, SessionEnd::at_limit);
    watch.read();
    EXPECT_FALSE(watch.finished());
    EXPECT_TRUE(watch.at_limit());
    session(3, SessionEnd::finished);
    watch.read();
    EXPECT_TRUE(watch.finished());
    EXPECT_FALSE(watch.at_limit());
    ASSERT_TRUE(store->set_source("study: other\n"));  // the job was submitted with other options
    EXPECT_FALSE(watch.finished());
}

TEST(StudyWatch, AKilledSessionCountsUpToItsLastEvent) {
    const testing::TemporaryFolder temporary;
    const StudyFolder folder{temporary.path()};
    const Study study = *parse_stored_study(testing::sample_yaml, "s.yaml");
    const auto store = *open_store(folder.database());
    ASSERT_TRUE(store->set_source(study.source));
    for (const Event& event :
         {Event{event::SessionStarted{"host", 1, ""}}, Event{event::SessionEnded{7, "", SessionEnd::interrupted}},
          Event{event::SessionStarted{"host", 2, ""}}, Event{event::Proposed{1, {0.5, 0.5, 0.25}, {}}}})
        ASSERT_TRUE(store->append(event));
    ASSERT_TRUE(store->settle());
    const auto events = store->events(0, 10);
    ASSERT_TRUE(events);
    RunObserver observer;
    const auto outcome = StudyWatch(study, folder, observer).outcome();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->end, SessionEnd::interrupted);
    EXPECT_DOUBLE_EQ(outcome->seconds, 7 + ((*events)[3].time - (*events)[2].time));
}

TEST(StudyWatch, EndedTrialsCountMoreThanSteps) {
    using enum TrialState;
    EXPECT_GT(progress_of(record_of({complete}, 1)), progress_of(record_of({running}, 9)));
    EXPECT_GT(progress_of(record_of({running}, 2)), progress_of(record_of({running}, 1)));
    EXPECT_EQ(progress_of(StudyRecord{}), Progress{});
}

}  // namespace
}  // namespace hpo::slurm
