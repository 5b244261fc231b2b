// The output of a session that is not on a terminal.
#include "orchestrator/observers/run_observers.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

using ::testing::HasSubstr;

TEST(InLines, SpeakEveryTenMinutesAtLeast) {
    Study study;
    study.name = "lines";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.worker = ScriptWorker{.command = {"played"}};
    study.budget.trials = 40;
    study.budget.epochs = 20;
    StudyRecord record;
    const auto happens = [&](const Event& event) {
        const StoredEvent stored{record.sequence + 1, 0, event, {}};
        apply(record, stored, study.objective);
        return stored;
    };
    ::testing::internal::CaptureStdout();
    const auto observer = make_run_observer(RunStyle::automatic, study);
    const auto at = [&](double seconds) {
        const std::string picture = observer->picture({record, seconds, 1, {}, {}});
        EXPECT_TRUE(observer->draw(picture));
        return picture;
    };
    happens(event::Proposed{1, {}, {}, 0});
    happens(event::Launched{1, 1, "cpu 0", {}});
    happens(event::Reported{1, 1, {.step = 7, .metrics = {{"loss", 0.5}}}});
    observer->begun({record, 100, 1, {}, {}});
    EXPECT_EQ(at(699), "");
    EXPECT_THAT(at(701), Mentions("trial 1 at", "step 7/20", "loss 0.5000"));
    EXPECT_EQ(at(1200), "");
    EXPECT_THAT(observer->happened(record, happens(event::Finished{1, 1, TrialState::complete, "", ""})),
                HasSubstr("complete"));
    EXPECT_EQ(at(1201), "");
    EXPECT_EQ(at(1800), "");
    EXPECT_THAT(at(1801), HasSubstr("1 started, 1 finished"));
    EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("11m 41s: "));
}

}  // namespace
}  // namespace hpo
