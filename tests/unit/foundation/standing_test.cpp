// The order of trials under several objectives and constraints.
#include "hpo/standing.hpp"

#include <gmock/gmock.h>

#include "hpo/random.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Objective two_objectives() {
    return {
        "loss", Direction::minimize, Objective::At::best, {{"accuracy", Direction::maximize}}, {{"size", {}, 10.0}}};
}

TrialRecord trial_with(std::int64_t number, Metrics metrics) {
    TrialRecord trial;
    trial.number = number;
    trial.state = TrialState::complete;
    trial.curve = {{1, {{"loss", 9}}}, {2, std::move(metrics)}};
    score(trial, {"loss", Direction::minimize, Objective::At::last});
    return trial;
}

TEST(Standing, HoldsWhatTheStepThatCountsReportedWithSmallerAsBetter) {
    const auto standing =
        standing_of(trial_with(1, {{"loss", 0.5}, {"accuracy", 0.9}, {"size", 15}}), two_objectives());
    ASSERT_TRUE(standing);
    EXPECT_THAT(standing->losses, ElementsAre(0.5, -0.9));
    EXPECT_DOUBLE_EQ(standing->violation, 0.5) << "a share of the bound";
    EXPECT_FALSE(standing_of(trial_with(2, {{"loss", 0.5}, {"size", 15}}), two_objectives())) << "no accuracy";
    TrialRecord diverged = trial_with(3, {{"loss", 0.5}, {"accuracy", 0.9}, {"size", 1}});
    diverged.state = TrialState::diverged;
    EXPECT_FALSE(standing_of(diverged, two_objectives()));
}

TEST(Standing, BoundsAreInclusiveAndMayBeBoth) {
    EXPECT_LE(violation_of({"m", {}, 2.0}, 2.0), 0);
    EXPECT_LE(violation_of({"m", 1.0, 2.0}, 1.0), 0);
    EXPECT_GT(violation_of({"m", 1.0, 2.0}, 0.5), 0);
    EXPECT_DOUBLE_EQ(violation_of({"m", {}, 0.0}, 3.0), 3) << "of a bound of 0 the unit is 1";
}

TEST(ParetoFront, IsWhatNothingDominatesAndNoTrialThatBreaksConstraintsIsInIt) {
    EXPECT_THAT(pareto_front({{{3, 1}}, {{1, 3}}, {{2, 2}}, {{3, 3}}, {{0, 0}, 0.1}}), ElementsAre(1, 2, 0));
    EXPECT_THAT(pareto_front({{{1, 1}}, {{1, 1}}, {{1, 2}}}), ElementsAre(0, 1)) << "equals stand side by side";
    EXPECT_THAT(pareto_front({{{5, 5}, 2}, {{9, 9}, 1}}), ElementsAre(1)) << "none is feasible: the nearest";
    EXPECT_THAT(pareto_front({}), IsEmpty());
}

TEST(ParetoFront, OfRandomPointsIsThatOfAllPairsCompared) {
    std::vector<Standing> points;
    for (std::uint64_t i = 0; i < 200; ++i) {
        Standing point;
        for (std::uint64_t m = 0; m < 3; ++m)
            point.losses.push_back(std::round(20 * draw_unit(1, Purpose::synthetic, i, m)));
        points.push_back(point);
    }
    std::vector<std::size_t> front = pareto_front(points), expected;
    std::sort(front.begin(), front.end());
    for (std::size_t i = 0; i < points.size(); ++i)
        if (std::none_of(points.begin(), points.end(),
                         [&](const Standing& other) { return dominates(other, points[i]); }))
            expected.push_back(i);
    EXPECT_EQ(front, expected);
}

TEST(Hypervolume, IsTheVolumeUnderTheFront) {
    EXPECT_DOUBLE_EQ(hypervolume({{3.0}}, {5}), 2);
    EXPECT_DOUBLE_EQ(hypervolume({{1, 2}, {2, 1}, {2, 2}, {9, 0}}, {3, 3}), 3);
    EXPECT_DOUBLE_EQ(hypervolume({{0, 0, 0.5}, {0.5, 0.5, 0}}, {1, 1, 1}), 0.5 + 0.125);
    EXPECT_DOUBLE_EQ(hypervolume({}, {1, 1}), 0);
    std::vector<std::vector<double>> points;
    for (std::uint64_t i = 0; i < 12; ++i)
        for (std::uint64_t m = points.emplace_back().size(); m < 3; ++m)
            points.back().push_back(draw_unit(2, Purpose::synthetic, i, m));
    int below = 0;
    const int draws = 100'000;
    for (std::uint64_t i = 0; i < draws; ++i) {
        const auto u = [&](std::uint64_t m) { return draw_unit(3, Purpose::synthetic, i, m); };
        const std::array at{u(0), u(1), u(2)};
        below += std::any_of(points.begin(), points.end(),
                             [&](const auto& p) { return p[0] <= at[0] && p[1] <= at[1] && p[2] <= at[2]; });
    }
    EXPECT_NEAR(hypervolume(points, {1, 1, 1}), static_cast<double>(below) / draws, 0.01);
}

TEST(Ranking, PutsTheBestThatKeepsTheConstraintsFirst) {
    Objective objective{"loss", Direction::minimize, Objective::At::best, {}, {{"size", {}, 10.0}}};
    StudyRecord record;
    for (const auto& [loss, size] : std::vector<std::pair<double, double>>{{0.1, 20}, {0.5, 10}, {0.3, 5}, {0.2, 11}})
        record.trials.push_back(
            trial_with(static_cast<std::int64_t>(record.trials.size()) + 1, {{"loss", loss}, {"size", size}}));
    EXPECT_EQ(best_trial(record, objective)->number, 3);
    std::vector<std::int64_t> order;
    for (const TrialRecord* trial : ranking(record, objective)) order.push_back(trial->number);
    EXPECT_THAT(order, ElementsAre(3, 2, 4, 1));
    objective.constraints[0].max = 1;
    EXPECT_EQ(best_trial(record, objective), nullptr);
    EXPECT_THAT(front_of(record, objective), IsEmpty());
}

TEST(BestSoFar, IsTheBestTrialAfterEachChange) {
    for (const Direction direction : {Direction::minimize, Direction::maximize}) {
        Objective objective{"loss", direction, Objective::At::last};
        objective.constraints = {{"size", {}, 10.0}};
        StudyRecord record;
        BestSoFar best(objective);
        for (std::uint64_t change = 0; change < 2000; ++change) {
            const auto draw = [&](std::uint64_t element) { return draw_unit(1, Purpose::start, change, element); };
            const auto trial = std::min(static_cast<std::size_t>(draw(0) * 40), record.trials.size());
            if (trial == record.trials.size()) record.trials.emplace_back();
            // Values repeat, become worse and better, break the constraint or are missing.
            record.trials[trial] = trial_with(static_cast<std::int64_t>(trial) + 1,
                                              {{"loss", std::floor(draw(1) * 8)}, {"size", draw(2) * 12}});
            if (draw(3) < 0.1) record.trials[trial].state = TrialState::diverged;
            if (draw(4) < 0.1) record.trials[trial].value.reset();
            ASSERT_EQ(best.update(record, record.trials[trial].number), best_trial(record, objective)) << change;
        }
    }
}

}  // namespace
}  // namespace hpo
