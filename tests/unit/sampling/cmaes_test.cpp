// CMA-ES finds optima that random search does not find, and its discrete values do not freeze.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "support.hpp"

namespace hpo {
namespace {

TEST(Cmaes, FollowsARotatedNarrowValley) {
    const Space space{number("a"), number("b"), number("c"), number("d")};
    const auto valley = [](const TrialRecord& trial) {
        const Point& x = trial.point;
        const double along = x[0] + x[1] + x[2] + x[3] - 1.3;
        double sum = 100 * along * along;
        for (std::size_t d = 0; d < 4; ++d) sum += std::pow(x[d] - 0.1 - 0.15 * static_cast<double>(d), 2);
        return sum;
    };
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        EXPECT_LT(least(space, "cmaes", 1500, seed, valley), 1e-6) << seed;
        EXPECT_GT(least(space, "random", 1500, seed, valley), 1e-3) << seed;
    }
}

TEST(Cmaes, FindsTheIntegersAndTheCategoryBesideContinuousOptima) {
    Space space{number("x"), number("y"), number("i", Kind::integer, 20), number("j", Kind::integer, 2)};
    Dimension kind = number("k", Kind::categorical);
    kind.choices = {std::string("a"), std::string("b"), std::string("c"), std::string("d")};
    space.push_back(kind);
    const auto loss = [](const TrialRecord& trial) {
        const auto at = [&](const char* name) { return number_or(trial.params.at(name), 0); };
        return std::pow(at("x") - 0.3, 2) + std::pow(at("y") - 0.8, 2) + std::pow(at("i") - 17, 2) / 100 +
               std::pow(at("j") - 2, 2) + (trial.params.at("k") == Value(std::string("c")) ? 0 : 0.3);
    };
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u})
        EXPECT_LT(least(space, "cmaes", 800, seed, loss), 1e-3) << seed;
}

TEST(Cmaes, BeginsAnewWhereItHasConverged) {
    // There are two valleys. The wide one leads away from the deep one.
    const auto loss = [](const TrialRecord& trial) {
        const double x = trial.point[0], y = trial.point[1];
        return std::min(std::hypot(x - 0.5, y - 0.5) + 0.1, 3 * std::hypot(x - 0.08, y - 0.9));
    };
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
        found += least({number("x"), number("y")}, "cmaes", 3000, seed, loss) < 0.05;
    EXPECT_GE(found, 3);
}

}  // namespace
}  // namespace hpo
