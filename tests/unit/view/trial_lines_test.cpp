// The lines of a session whose output is no terminal.
#include "orchestrator/view/trial_lines.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

namespace hpo::view {
namespace {

using ::testing::HasSubstr;

class Lines : public ::testing::Test {
   protected:
    Lines() {
        study_.name = "lines";
        study_.objective = {"loss", Direction::minimize, Objective::At::best};
        study_.worker = ScriptWorker{.command = {"played"}};
        study_.budget.trials = 40;
        study_.budget.epochs = 20;
    }
    std::string happens(const Event& event) {
        const StoredEvent stored{record_.sequence + 1, 0, event, {}};
        apply(record_, stored, study_.objective);
        return lines_.line(stored, record_);
    }
    /// A trial starts and reports `steps` times, the last time with `loss`.
    void trains(std::int64_t trial, std::int64_t steps, double loss) {
        EXPECT_EQ(happens(event::Proposed{trial, {}, {}, 0}), "");
        EXPECT_EQ(happens(event::Launched{trial, 1, "cpu 0", {}}), "");
        reports(trial, 1, steps, loss);
    }
    void reports(std::int64_t trial, std::int64_t first, std::int64_t last, double loss) {
        for (std::int64_t step = first; step <= last; ++step) {
            const double value = loss + 0.01 * static_cast<double>(last - step);
            const Report report{.step = step, .metrics = {{"loss", value}}, .seconds = 0.5 * static_cast<double>(step)};
            EXPECT_EQ(happens(event::Reported{trial, 1, report}), "");
        }
    }

    Study study_;
    StudyRecord record_;
    TrialLines lines_{study_};
};

TEST_F(Lines, HaveTheValueFirstInColumnsThatAgree) {
    trains(1, 20, 0.2098);
    EXPECT_EQ(happens(event::Finished{1, 1, TrialState::complete, "", ""}),
              "trial  1  loss 0.2098    complete  20/20  10.0 s  best so far");
    trains(2, 2, 0.8206);
    EXPECT_EQ(happens(event::Paused{2, 1, "asha", "2nd of 2 at rung 1; the best one is promoted"}),
              "trial  2  loss 0.8206    paused     2/20   1.0 s  best 0.2098 (1)  asha: 2nd of 2 at rung 1");
    trains(3, 1, 5e-4);
    EXPECT_EQ(happens(event::Finished{3, 1, TrialState::stopped, "plateau", "no\nbetter"}),
              "trial  3  loss 5.000e-4  stopped    1/20  500 ms  best so far  plateau: no");
}

TEST_F(Lines, TellTheFirstPauseAndTheEndOnly) {
    trains(1, 2, 0.5);
    EXPECT_THAT(happens(event::Paused{1, 1, "asha", "1st of 1"}), HasSubstr("paused"));
    EXPECT_EQ(happens(event::Requeued{1, 1, Outcome::paused, false, "promoted to rung 2"}), "");
    EXPECT_EQ(happens(event::Launched{1, 2, "cpu 0", {}}), "");
    reports(1, 3, 6, 0.4);
    EXPECT_EQ(happens(event::Paused{1, 2, "asha", "1st of 1"}), "");
    EXPECT_THAT(happens(event::Finished{1, 2, TrialState::complete, "", ""}), HasSubstr("loss 0.4000    complete"));
}

TEST_F(Lines, TellTheFinalMetricsOfTheFirstTrialThatHasAny) {
    trains(1, 2, 0.5);
    EXPECT_THAT(happens(event::Closing{1, 1, {{"test_acc", 0.75}}}),
                Mentions("trial 1 ", "test_acc 0.7500", "hpo show"));
    trains(2, 2, 0.5);
    EXPECT_EQ(happens(event::Closing{2, 1, {{"test_acc", 0.25}}}), "");
}

TEST_F(Lines, OfFailuresHaveTheFirstLineOfTheReason) {
    happens(event::Proposed{1, {}, {}, 0});
    happens(event::Launched{1, 1, "cpu 0", {}});
    EXPECT_EQ(happens(event::Finished{1, 1, TrialState::failed, "", "exit status 1:\nlast words"}),
              "trial  1  loss -         failed     0/20       -  exit status 1");
    happens(event::Proposed{2, {}, {}, 0});
    happens(event::Launched{2, 1, "cpu 0", {}});
    EXPECT_EQ(happens(event::Requeued{2, 1, Outcome::lost, true, "killed"}), "") << "a warning says it";
    EXPECT_EQ(happens(event::Requeued{2, 1, Outcome::lost, false, "the session ended"}),
              "trial 2 is queued again: the session ended");
}

TEST_F(Lines, OfFailuresDoNotNameABestThatMayFailAsWell) {
    trains(1, 2, 0.2);
    trains(2, 2, 0.1);
    EXPECT_THAT(happens(event::Finished{1, 1, TrialState::failed, "", "exit status 1"}),
                ::testing::AllOf(Mentions("failed", "exit status 1"), ::testing::Not(HasSubstr("best"))));
}

TEST_F(Lines, SayWhichTrialsRunAfterALongSilence) {
    trains(1, 20, 0.2);
    happens(event::Finished{1, 1, TrialState::complete, "", ""});
    trains(2, 7, 0.5312);
    happens(event::Proposed{3, {}, {}, 0});
    happens(event::Launched{3, 1, "cpu 0", {}});
    study_.budget.epochs = 20;
    EXPECT_THAT(running_line(study_, record_, {1200, 2, true}),
                ::testing::AllOf(::testing::StartsWith("20m 00s: 3 "), Mentions("1 finished", " 40"),
                                 ::testing::ContainsRegex("; trial 2 .*7/20 .*loss 0.5312, trial 3 .*0/20$")));
}

}  // namespace
}  // namespace hpo::view
