// The reported savings of stopping: never more than the time that was saved.
#include <gmock/gmock.h>

#include "orchestrator/view/report.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::view {
namespace {

/// A study of a script, whose trials take `start` seconds before their first step, and its record.
struct PlayedScript {
    explicit PlayedScript(double start, double pace) : start_(start), pace_(pace) {
        study.name = "script";
        study.objective = {"val_accuracy", Direction::maximize, Objective::At::best};
        study.worker = ScriptWorker{.command = {"train"}};
        study.budget.epochs = 50;
    }
    void happens(const Event& event) { apply(record, {record.sequence + 1, now_, event}, study.objective); }
    /// Trains from the first step, as a script does that has no checkpoint.
    void train(std::int64_t trial, std::int64_t attempt, std::int64_t steps) {
        if (attempt == 1) happens(event::Proposed{trial, {}, {}});
        if (attempt > 1) happens(event::Requeued{trial, attempt - 1, Outcome::paused, false, "promoted"});
        happens(event::Launched{trial, attempt, "cpu 0", {}});
        const double before = record.trial(trial).curve.empty() ? 0 : *record.trial(trial).curve.back().seconds;
        const double launched = now_;
        for (std::int64_t step = 1; step <= steps; ++step) {
            now_ += pace_ + (step == 1 ? start_ : 0);
            event::Reported reported{trial, attempt, {}};
            reported.report.step = step;
            reported.report.seconds = before + now_ - launched;
            reported.report.metrics["val_accuracy"] = 0.5;
            happens(reported);
        }
    }
    void pause(std::int64_t trial) { happens(event::Paused{trial, 1, "asha", ""}); }
    void end(std::int64_t trial, TrialState state) {
        happens(event::Finished{trial, 1, state, state == TrialState::stopped ? "asha" : "", ""});
    }
    /// Returns the lines about stopping, below a blank line.
    [[nodiscard]] std::string told() const {
        const std::string text = savings_text(study, record);
        return text.starts_with('\n') ? text.substr(1) : text;
    }

    Study study;
    StudyRecord record;

   private:
    double now_ = 1000, start_, pace_;
};

TEST(Savings, AreLessTheStartsOfResumedScripts) {
    PlayedScript played(2, 0.1);
    played.train(1, 1, 50), played.end(1, TrialState::complete);
    played.train(2, 1, 6), played.pause(2);
    played.train(2, 2, 50), played.end(2, TrialState::complete);
    played.train(3, 1, 6), played.pause(3), played.end(3, TrialState::stopped);
    const Savings saved = savings(played.study, played.record).value();
    EXPECT_EQ(saved.left, 44);
    EXPECT_EQ(saved.restarts, 1);
    EXPECT_NEAR(saved.left_seconds, 4.4, 1e-9);
    EXPECT_NEAR(saved.again_seconds, 2 + 0.6, 1e-9) << "the start, and the six steps that were repeated";
    EXPECT_EQ(played.told(),
              "Stopping saved 1.8 s of training: 44 of 150 steps (29 %) were left out\n"
              "  trials stopped by asha 1 (44 steps)\n"
              "  less 2.6 s for 1 restart after a pause, a failure or an interruption, with 6 steps that trials "
              "repeated\n");
    EXPECT_THAT(draw_report(played.study, played.record, {}, {}, {0, 0, false, true}),
                Mentions("Stopping      saved 1.8 s", "44 of 150 steps (29 %)", "1 trial", "asha"));
}

TEST(Savings, AreNoneWhereRestartsTookLongerThanTheStepsThatWereLeftOut) {
    PlayedScript played(20, 0.1);
    played.train(1, 1, 6), played.pause(1);
    played.train(1, 2, 50), played.end(1, TrialState::complete);
    played.train(2, 1, 6), played.pause(2), played.end(2, TrialState::stopped);
    EXPECT_EQ(played.told(),
              "Stopping saved no time: 44 of 100 steps (44 %) were left out, but restarts took longer\n"
              "  trials stopped by asha 1 (44 steps)\n"
              "  less 20.6 s for 1 restart after a pause, a failure or an interruption, with 6 steps that trials "
              "repeated\n");
}

TEST(Savings, CountTheStepsThatProgramsHaveNotThoseOfTheBudget) {
    PlayedScript played(0, 1);
    played.train(1, 1, 2), played.pause(1), played.end(1, TrialState::stopped);
    EXPECT_FALSE(savings(played.study, played.record)) << "no program has come to its end";
    EXPECT_EQ(played.told(), "");
    for (std::int64_t n = 2; n <= 4; ++n) played.train(n, 1, 5), played.end(n, TrialState::complete);
    EXPECT_EQ(played.told(),
              "Stopping saved 3.0 s of training: 3 of 20 steps (15 %) were left out\n"
              "  trials stopped by asha 1 (3 steps)\n");
    played.train(5, 1, 5), played.pause(5), played.end(5, TrialState::stopped);
    EXPECT_EQ(savings(played.study, played.record)->left, 3) << "it has had all its steps";
}

TEST(Savings, OfAStudyThatWasNotTimedAreStepsAlone) {
    PlayedScript played(2, 0.1);
    played.train(1, 1, 50), played.end(1, TrialState::complete);
    played.train(2, 1, 6), played.pause(2);
    played.train(2, 2, 6), played.end(2, TrialState::stopped);
    played.record.trial(2).starts = {};  // recorded by an earlier version
    EXPECT_EQ(
        played.told(),
        "Stopping left out 44 of 100 steps (44 %)\n"
        "  trials stopped by asha 1 (44 steps)\n"
        "  the time of 1 restart after a pause, a failure or an interruption was not measured; it includes 6 steps "
        "that trials repeated\n");
}

TEST(Savings, ASparedTrialIsTold) {
    PlayedScript played(2, 0.1);
    played.train(1, 1, 50);
    played.happens(event::Spared{1, 1, "asha", "its restart would take 2.0 s"});
    played.end(1, TrialState::complete);
    EXPECT_EQ(played.told(),
              "Stopping      1 trial was not paused: its restart would have taken longer than the remaining steps "
              "(hpo.log has "
              "the times)\n");
    EXPECT_THAT(draw_report(played.study, played.record, {}, {}, {0, 0, false, true}), Mentions("Stopping      1"));
}

}  // namespace
}  // namespace hpo::view
