// The lines of hpo.log: starts, pauses, promotions, retries, and ends with value and reason.
#include "orchestrator/engine/log_lines.hpp"

#include <gtest/gtest.h>

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

class LogLines : public ::testing::Test {
   protected:
    LogLines() {
        study_.objective = {"loss", Direction::minimize, Objective::At::best};
        study_.stopping = {{"asha", {}}, {"plateau", {}}};
        EXPECT_EQ(happens(event::Proposed{1, {}, {}}), "");
    }
    std::string happens(const Event& event) {
        const StoredEvent stored{++record_.sequence, 0, event};
        apply(record_, stored, study_.objective);
        return log_line(study_, record_, stored);
    }
    std::string step(std::int64_t number, double loss) {
        return happens(event::Reported{1, 1, {.step = number, .metrics = {{"loss", loss}}}});
    }

    Study study_;
    StudyRecord record_;
};

TEST_F(LogLines, ASessionSaysVersionHostWorkersAndRules) {
    EXPECT_THAT(session_line(study_, {"box", 7, "1.2"}, 4),
                MentionsInOrder("hpo 1.2", "box", "pid 7", "4 workers", "stopping", "asha", "plateau"));
    EXPECT_THAT(session_line({}, {"box", 7, "1.2"}, 1),
                MentionsInOrder("hpo 1.2", "box", "pid 7", "1 worker", "no stopping"));
}

TEST_F(LogLines, DescribeATrialFromItsStartToItsEndWithoutItsSteps) {
    const Allocation given{{std::int64_t{3} << 30, std::int64_t{1} << 30, 1}, "GPU-7", false, 0, {}};
    EXPECT_EQ(happens(event::Launched{1, 1, "gpu 0", given}),
              "trial 1: started on gpu 0 (GPU-7, 3.000 GiB of device memory, 1.000 GiB of memory)");
    EXPECT_EQ(step(1, 0.5), "");
    EXPECT_EQ(step(2, 0.75), "");
    EXPECT_EQ(happens(event::Paused{1, 1, "asha", "2nd of 5"}),
              "trial 1: paused after 2 steps, loss 0.5000 at step 1 by asha: 2nd of 5");
    EXPECT_EQ(happens(event::Requeued{1, 1, Outcome::paused, false, "promoted to rung 2"}),
              "trial 1: promoted to rung 2");
    EXPECT_EQ(happens(event::Launched{1, 2, "cpu 0", {}}), "trial 1: started again on cpu 0");
    EXPECT_EQ(happens(event::Finished{1, 2, TrialState::stopped, "plateau", "no gain"}),
              "trial 1: stopped after 2 steps, loss 0.5000 at step 1 by plateau: no gain");
}

TEST_F(LogLines, ATrialThatIsNotPausedSaysWhy) {
    EXPECT_EQ(
        happens(event::Spared{1, 1, "asha", "its restart would take 2.0 s, its remaining 3 steps 60 ms"}),
        "trial 1: continues, although asha would pause it: its restart would take 2.0 s, its remaining 3 steps 60 ms");
}

TEST_F(LogLines, ARetryHasItsNumberAndTheFirstLineOfItsReason) {
    happens(event::Launched{1, 1, "cpu 0", {}});
    EXPECT_EQ(happens(event::Requeued{1, 1, Outcome::lost, true, "the worker died of SIGSEGV\n  | core dumped"}),
              "trial 1: queued again, lost: the worker died of SIGSEGV");
    EXPECT_EQ(happens(event::Launched{1, 2, "cpu 0", {}}), "trial 1: started on cpu 0, retry 1");
}

TEST_F(LogLines, AStepOfTheNativeWorkerIsAnEpoch) {
    study_.worker = NativeWorker{};
    happens(event::Launched{1, 1, "cpu 0", {}});
    step(1, 0.5);
    EXPECT_EQ(happens(event::Finished{1, 1, TrialState::complete, "", ""}),
              "trial 1: complete after 1 epoch, loss 0.5000 at epoch 1");
}

TEST_F(LogLines, PausedTrialsThatEndWithTheStudyAreOneLine) {
    EXPECT_THAT(end_with_study_line(1), Mentions("1 paused", "ended", "no rule", "promoted"));
    EXPECT_THAT(end_with_study_line(58), Mentions("58 paused", "ended", "no rule", "promoted"));
}

}  // namespace
}  // namespace hpo
