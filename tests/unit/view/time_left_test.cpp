#include "orchestrator/view/time_left.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <optional>

#include "hpo/random.hpp"
#include "orchestrator/stopping/rules.hpp"
#include "tests/support/played_study.hpp"

namespace hpo::view {
namespace {

using testing::play_study;
using testing::PlayedStudy;

Study study_with(std::vector<PartSpec> rules, std::int64_t trials, std::int64_t epochs) {
    Study study;
    study.name = "played";
    study.budget.trials = trials;
    study.budget.epochs = epochs;
    study.stopping = std::move(rules);
    return study;
}

TEST(TimeLeft, IsUnknownUntilATrialHasEndedOrPausedUnlessTheBudgetLimitsTime) {
    Study study = study_with({}, 8, 20);
    EXPECT_EQ(time_left(study, {}, {10, 1, true}), std::nullopt);
    study.budget.seconds = 60;
    const auto left = time_left(study, {}, {10, 1, true});
    ASSERT_TRUE(left);
    EXPECT_EQ(time_left_text(*left), "at most 50 s left");
    EXPECT_NEAR(part_done(study, {}, {15, 1, true}), 0.25, 1e-9);
}

TEST(TimeLeft, TheBarShowsTimeIfTheTimeBudgetEndsTheStudy) {
    auto played = play_study(study_with({}, 1000, 20), {.workers = 2});
    played.study.budget.seconds = played.events.back().time / 10;
    StudyRecord record;
    double now = 0;
    for (const StoredEvent& stored : played.events) {
        if (stored.time > *played.study.budget.seconds / 2) break;
        apply(record, stored, played.study.objective);
        now = stored.time;
    }
    EXPECT_NEAR(part_done(played.study, record, {now, 2, true}), now / *played.study.budget.seconds, 1e-6);
    EXPECT_EQ(time_left_text(*time_left(played.study, record, {now, 2, true})).substr(0, 6), "about ");
}

TEST(TimeLeft, TextIsARangeOfRoundedTimes) {
    EXPECT_EQ(time_left_text({12.3, 25.6, 0}), "12 to 26 s left");
    EXPECT_EQ(time_left_text({71, 124, 0}), "1m 11s to 2m 00s left");
    EXPECT_EQ(time_left_text({100, 110, 100}), "about 1m 40s left");
    EXPECT_EQ(time_left_text({0.1, 0.4, 0.2}), "about 1 s left");
    EXPECT_EQ(time_left_text({4000, 9000, 0}), "1h 07m to 2h 30m left");
}

}  // namespace
}  // namespace hpo::view
