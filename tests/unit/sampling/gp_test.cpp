// The gp sampler as a whole: where its model does not rank the trials, another sampler helps.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support.hpp"

namespace hpo {
namespace {

TEST(Gp, FollowsTheBestResultsWhereTheirMeanIsFlat) {
    // Schaffer's second function: waves around the optimum. Only their lower ends decrease towards it. The median of
    // random points is near 0.5.
    const auto rings = [](const TrialRecord& trial) {
        const double x = 200 * trial.point[0] - 110, y = 200 * trial.point[1] - 75, square = x * x + y * y;
        return 0.5 + (std::pow(std::sin(std::sqrt(square)), 2) - 0.5) / std::pow(1 + 0.001 * square, 2);
    };
    std::array<double, 7> found{};
    for (std::size_t i = 0; i < found.size(); ++i)
        found[i] = least({number("x"), number("y")}, "gp", 100, i + 1, rings);
    std::sort(found.begin(), found.end());
    EXPECT_LT(found[found.size() / 2], 0.15);
}

TEST(Gp, ProposesEveryIntegerOnTheLogarithmsScale) {
    Dimension heads = number("heads", Kind::integer, 16);
    heads.low = 1, heads.log = true;
    for (const double best : {9.0, 11.0, 14.0, 16.0}) {
        Study study;
        study.space = {heads, number("x")};
        study.sampler.type = "gp";
        study.objective.direction = Direction::minimize;
        const auto trials = played(study, 40, [&](const TrialRecord& trial) {
            return std::abs(number_or(trial.params.at("heads"), 0) - best) + trial.point[1];
        });
        EXPECT_GT(std::count_if(trials.begin() + 10, trials.end(),
                                [&](auto& trial) { return number_or(trial.params.at("heads"), 0) == best; }),
                  3)
            << best;
    }
}

TEST(Gp, LooksInsideTheRangesBeforeItLooksAtTheirEnds) {
    std::ptrdiff_t ends = 0, inside = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        Study study;
        study.seed = seed;
        study.sampler.type = "gp";
        study.objective.direction = Direction::minimize;
        for (const char* name : {"a", "b", "c", "d"}) study.space.push_back(number(name));
        const auto trials = played(study, 14, [](const TrialRecord& trial) {
            double rugged = 0;
            for (const double x : trial.point) rugged += (x - 0.4) * (x - 0.4) + 0.3 * std::sin(40 * x);
            return rugged;
        });
        for (auto trial = trials.begin() + 4; trial != trials.end(); ++trial)
            for (const double x : trial->point) ++(x < 0.02 || x > 0.98 ? ends : inside);
    }
    EXPECT_LT(ends, inside / 5);
}

}  // namespace
}  // namespace hpo
