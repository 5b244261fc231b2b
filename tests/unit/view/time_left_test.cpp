// The predicted time left against the truth: whole studies are simulated with_patience their rules, and at each moment
// after the first quarter the prediction is compared with_patience the time that the study then took.
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

/// The quality of the predictions after the first quarter of a study.
struct Score {
    double worst = 1;    ///< largest factor by name the truth missed the predicted range; 1 if it never did
    double inside = 0;   ///< share of predictions whose range held the truth
    double middle = 0;   ///< share of predictions whose expected value was within a factor of two
    double moments = 0;  ///< number of predictions
};

Score score(const PlayedStudy& played) {
    Score score;
    StudyRecord record;
    const double end = played.events.back().time;
    for (const StoredEvent& stored : played.events) {
        apply(record, stored, played.study.objective);
        const double left = end - stored.time;
        if (stored.time < end / 4 || left < end / 50 || stored.sequence % 23 != 0) continue;
        const auto predicted = time_left(played.study, record, {stored.time, 1, true});
        if (!predicted) return {1e9};
        ++score.moments;
        score.inside += predicted->least <= left && left <= predicted->most ? 1 : 0;
        score.middle += predicted->expected < 2 * left && left < 2 * predicted->expected ? 1 : 0;
        score.worst = std::max({score.worst, predicted->least / left, left / predicted->most});
    }
    score.inside /= score.moments;
    score.middle /= score.moments;
    return score;
}

Study study_with(std::vector<PartSpec> rules, std::int64_t trials, std::int64_t epochs) {
    Study study;
    study.name = "played";
    study.budget.trials = trials;
    study.budget.epochs = epochs;
    study.stopping = std::move(rules);
    return study;
}

/// Adds a simulation's score to the average of several. `share` is its weight; the worst of all is kept.
void add(Score& all, const Score& one, double share) {
    all.inside += share * one.inside;
    all.middle += share * one.middle;
    all.worst = std::max(all.worst, one.worst);
}

TEST(TimeLeft, AfterAQuarterOfTheStudyTheRangeHoldsAndItsMiddleIsWithinAFactorOfTwo) {
    const PartSpec asha{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}, plateau{"plateau", {}};
    const PartSpec divergence{"divergence", {}}, extrapolation{"extrapolation", {}};
    for (const auto& rules : {std::vector<PartSpec>{}, {plateau}, {asha}, {plateau, asha}, {divergence, extrapolation}})
        for (const std::int64_t trials : {40, 64, 200})
            for (const bool from_start : {false, true}) {
                const bool rungs = !rules.empty() && rules.back().type != "plateau";
                if (from_start && !rungs) continue;
                Score total{1, 0, 0, 0};
                const std::vector<std::uint64_t> seeds =
                    trials == 200 ? std::vector<std::uint64_t>{1, 2} : std::vector<std::uint64_t>{1, 2, 3, 4};
                for (const std::uint64_t seed : seeds)
                    for (const std::size_t workers : {1u, 4u})
                        add(total,
                            score(play_study(study_with(rules, trials, 20),
                                             {.workers = workers, .from_start = from_start, .seed = seed})),
                            0.5 / static_cast<double>(seeds.size()));
                const std::string name = std::to_string(rules.size()) + " rules, " +
                                         (rules.empty() ? "" : rules.back().type) + ", " + std::to_string(trials) +
                                         " trials" + (from_start ? ", scripts that start over" : "");
                EXPECT_GT(total.inside, 0.8) << name;
                EXPECT_GT(total.middle, rungs ? 0.8 : 0.93) << name;
                // In a study with rungs, a single promotion near the end takes most of the time left, and it cannot be
                // predicted.
                EXPECT_LT(total.worst, rungs ? 8 : 2.5) << name;
                if (std::getenv("HPO_DRAW"))
                    std::printf("%-50s range off by %.2f, inside %.2f, middle within two %.2f\n", name.c_str(),
                                total.worst, total.inside, total.middle);
            }
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

TEST(TimeLeft, OfTrialsThatEndByThemselvesFollowsFromTheStepsOfThoseThatHaveEnded) {
    auto played = play_study(study_with({}, 40, 20), {.workers = 2});
    const double end = played.events.back().time;
    played.study.budget.open = true;
    played.study.budget.epochs = Budget::most_epochs;
    StudyRecord record;
    auto event = played.events.begin();
    for (; event->time < end / 2; ++event) {
        apply(record, *event, played.study.objective);
        if (count_ended(record) > 0) continue;
        EXPECT_FALSE(time_left(played.study, record, {event->time, 1, true}));
    }
    const auto left = time_left(played.study, record, {event->time, 1, true});
    ASSERT_TRUE(left);
    EXPECT_LT(left->least, 2 * (end - event->time));
    EXPECT_GT(left->most, (end - event->time) / 2);
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

TEST(TimeLeft, PatienceMayEndAStudySooner) {
    auto played = play_study(study_with({}, 100, 20), {.workers = 2});
    StudyRecord record;
    for (const StoredEvent& stored : played.events)
        if (stored.time < played.events.back().time / 2) apply(record, stored, played.study.objective);
    const Moment moment{played.events.back().time / 2, 2, true};
    const auto before = *time_left(played.study, record, moment);
    played.study.budget.patience = 1;
    const auto with_patience = *time_left(played.study, record, moment);
    EXPECT_LT(with_patience.least, before.least / 2);
    EXPECT_LE(with_patience.most, before.most);
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
