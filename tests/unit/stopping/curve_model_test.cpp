#include "orchestrator/stopping/curve_model.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "hpo/random.hpp"

namespace hpo {
namespace {

double uniform(std::uint64_t trial, std::uint64_t index) { return draw_unit(5, Purpose::synthetic, trial, index); }

CurveModel learnt(std::size_t nodes, const std::vector<CurvePath>& paths) {
    CurveModel model(nodes);
    std::vector<const CurvePath*> all;
    for (const CurvePath& path : paths) all.push_back(&path);
    model.fit(all);
    return model;
}

TEST(CurveModel, TakesWhatIsForTheEndUntilItHasLearntAnything) {
    const CurveModel model(3);
    EXPECT_EQ(model.end({0.5, 0.4}).value, 0.4);
    EXPECT_EQ(model.tells(0), 0);
}

TEST(CurveModel, KeepsDifferencesWhileNoTrialHasGoneOn) {
    const CurveModel model = learnt(2, {{0.5}, {0.3}, {0.9}});
    EXPECT_LT(model.end({0.3}).value, model.end({0.5}).value);
}

TEST(CurveModel, LearnsThatCurvesTurnRound) {
    std::vector<CurvePath> paths;
    for (std::uint64_t n = 0; n < 20; ++n) {
        const double early = uniform(n, 0);
        paths.push_back({early, 0.8 * early, 0.5 - 0.4 * early + 0.01 * uniform(n, 1)});
    }
    const CurveModel model = learnt(3, paths);
    EXPECT_LT(model.end({0.9}).value, model.end({0.1}).value);
    EXPECT_LT(model.end({0.9, 0.72}).value, model.end({0.1, 0.08}).value);
    EXPECT_GT(model.tells(0), 0.4);
}

TEST(CurveModel, KnowsWhenValuesDoNotTellTheEnd) {
    std::vector<CurvePath> telling, silent;
    for (std::uint64_t n = 0; n < 60; ++n) {
        const double end = uniform(n, 0);
        telling.push_back({1 + end + 0.05 * uniform(n, 1), end});
        silent.push_back({1 + uniform(n, 2), end});
    }
    EXPECT_GT(learnt(2, telling).tells(0), 0.9);
    EXPECT_LT(learnt(2, silent).tells(0), 0.4);
}

TEST(CurveModel, ItsDeviationIsThatOfTheObservedEnds) {
    std::vector<CurvePath> paths;
    for (std::uint64_t n = 0; n < 200; ++n)
        paths.push_back({uniform(n, 0), uniform(n, 0) + 0.2 * (uniform(n, 1) - 0.5)});
    const CurveModel model = learnt(2, paths);
    EXPECT_NEAR(model.end({0.5}).deviation, 0.2 / std::sqrt(12.0), 0.01);
    EXPECT_EQ(model.end({0.5, 0.4}).deviation, 0);
    EXPECT_EQ(model.end({0.5, 0.4}).value, 0.4);
}

TEST(CurveModel, DivergedTrialsAreTheWorstAndDoNotSpoilTheModel) {
    std::vector<CurvePath> paths;
    for (std::uint64_t n = 0; n < 30; ++n) paths.push_back({1 + uniform(n, 0), uniform(n, 0)});
    const double before = learnt(2, paths).end({1.1}).value;
    paths.push_back({1e30, 1e34});
    paths.push_back({1.9, INFINITY});
    const CurveModel model = learnt(2, paths);
    EXPECT_NEAR(model.end({1.1}).value, before, 0.1);
    EXPECT_TRUE(std::isfinite(model.end({1e30}).value));
    EXPECT_GT(model.end({1e30}).value, model.end({1.1}).value);
}

// ---- Predictions stay near the seen values, for any values.

constexpr std::size_t family_nodes = 4;

struct Family {
    std::string name;
    std::function<double(std::uint64_t trial, std::size_t node)> value;
    bool moves = true;  ///< false if its values are so far apart, or so near to each other, that a shift changes them
};

/// Returns kinds of curves, as losses: of `family_nodes` values around 1, or far from it.
std::vector<Family> families() {
    const auto smooth = [](std::uint64_t n, std::size_t node) {
        return 1 + uniform(n, 0) + std::exp(-static_cast<double>(node)) * (1 + uniform(n, 1)) +
               0.02 * uniform(n, 2 + node);
    };
    const auto hits = [](std::uint64_t n, std::size_t node) {  // of 300, with four decimals, as an accuracy
        const auto k = static_cast<double>(38 + n % 9) +
                       (node == 0 ? 0
                        : n < 4   ? 7
                                  : static_cast<double>(n % 5)) +
                       static_cast<double>(node) * static_cast<double>(1 + n % 3);
        return -std::round(k / 300 * 1e4) / 1e4;
    };
    return {
        {"smooth", smooth},
        {"hits of 300", hits},
        {"hits of 300, not rounded",
         [](std::uint64_t n, std::size_t node) {
             const double first = static_cast<double>(38 + n % 9) / 300;
             return -(node == 0 ? first
                                : first + (n < 4 ? 7.0 : static_cast<double>(n % 5)) / 300 +
                                      static_cast<double>(node) * static_cast<double>(1 + n % 3) / 300);
         }},
        {"hits of 3", [](std::uint64_t n, std::size_t node) { return -static_cast<double>((n + node) % 4) / 3; }},
        {"constant", [](std::uint64_t, std::size_t) { return 0.1; }},
        {"constant up to rounding",
         [](std::uint64_t n, std::size_t node) {
             return (0.1 + 1e-17 * static_cast<double>(n)) * 3 - 0.2 + 1e-16 * static_cast<double>(node % 2);
         }},
        {"equal in pairs",
         [&](std::uint64_t n, std::size_t node) {
             return std::round(10 * uniform(n / 2, 0)) / 10 + 1 / static_cast<double>(1 + node);
         }},
        {"equal at first", [&](std::uint64_t n, std::size_t node) { return node < 2 ? 0.1 : uniform(n, node); }},
        {"equal up to rounding at first",
         [&](std::uint64_t n, std::size_t node) {
             return node < 2 ? 0.1 + 1e-17 * static_cast<double>(n % 3) : uniform(n, node);
         }},
        {"mostly equal, some worse", [](std::uint64_t n, std::size_t) { return n % 3 == 0 ? 0.9 : 0.5; }},
        {"rising",
         [&](std::uint64_t n, std::size_t node) { return 1 + static_cast<double>(node) * (1 + uniform(n, 0)); }},
        {"nearly equal changes",
         [&](std::uint64_t n, std::size_t node) {
             return node == 0 ? uniform(n, 0)
                              : uniform(n, 0) - 0.1 * static_cast<double>(node) + 1e-7 * uniform(n, node);
         }},
        {"one explodes", [=](std::uint64_t n, std::size_t node) { return n == 3 && node > 0 ? 1e30 : smooth(n, node); },
         false},
        {"one explodes among equals", [](std::uint64_t n, std::size_t node) { return n == 3 && node > 0 ? 1e30 : 0.5; },
         false},
        {"one falls without bound",
         [=](std::uint64_t n, std::size_t node) { return n == 3 && node > 0 ? -1e12 : smooth(n, node); }, false},
        {"some diverge",
         [=](std::uint64_t n, std::size_t node) { return n % 4 == 1 && node > 1 ? INFINITY : smooth(n, node); }},
        {"all diverge", [=](std::uint64_t n, std::size_t node) { return node > 1 ? INFINITY : smooth(n, node); }},
        {"beyond all squares", [=](std::uint64_t n, std::size_t node) { return 1e200 * (smooth(n, node) - 2); }, false},
        {"at the limits", [](std::uint64_t n, std::size_t node) { return (n + node) % 2 == 0 ? 1.7e308 : -1.7e308; },
         false},
        {"subnormal", [](std::uint64_t n, std::size_t node) { return 5e-324 * static_cast<double>((n + node) % 5); },
         false},
    };
}

/// Returns `trials` paths of a family, a third of which end at each node but the first ones.
std::vector<CurvePath> drawn(const Family& family, std::uint64_t trials) {
    std::vector<CurvePath> paths;
    for (std::uint64_t n = 0; n < trials; ++n) {
        std::size_t length = 1;
        while (length < family_nodes && (n < 2 || uniform(n, 90 + length) < 0.67)) ++length;
        CurvePath& path = paths.emplace_back();
        for (std::size_t node = 0; node < length; ++node) path.push_back(family.value(n, node));
    }
    return paths;
}

TEST(CurveModel, NoPredictionLeavesTheRangeOfTheSeenValuesByMoreThanThatRange) {
    for (const Family& family : families())
        for (const double scale : {1.0, 1e-12, 1e12})
            for (const double shift : {0.0, 1e6, -3.0})
                for (const std::uint64_t trials : {1, 2, 3, 4, 8, 40}) {
                    const Family moved{family.name, [&](std::uint64_t n, std::size_t node) {
                                           return std::max(-1e300, shift * scale + scale * family.value(n, node));
                                       }};
                    const auto paths = drawn(moved, trials);
                    const CurveModel model = learnt(family_nodes, paths);
                    // Trials that come later are predicted as well. They may differ from all before.
                    for (std::uint64_t n = 0; n < trials + 5; ++n)
                        for (std::size_t length = 1; length < family_nodes; ++length) {
                            CurvePath path;
                            for (std::size_t node = 0; node < length; ++node) path.push_back(moved.value(n, node));
                            double low = INFINITY, high = -INFINITY;
                            const auto see = [&](double value) {
                                if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
                            };
                            for (const CurvePath& seen : paths) std::ranges::for_each(seen, see);
                            std::ranges::for_each(path, see);
                            if (!std::isfinite(path.back())) continue;
                            const auto end = model.end(path);
                            const double width = high / 2 - low / 2;
                            const double slack = 1e-9 * std::max(std::abs(low), std::abs(high));
                            SCOPED_TRACE(family.name + ", scale " + std::to_string(scale) + ", shift " +
                                         std::to_string(shift) + ", trial " + std::to_string(n) + " of " +
                                         std::to_string(trials) + " at node " + std::to_string(length));
                            ASSERT_TRUE(std::isfinite(end.value) && std::isfinite(end.deviation));
                            ASSERT_GE(end.value / 2, low / 2 - width - slack);
                            ASSERT_LE(end.value / 2, high / 2 + width + slack);
                            ASSERT_GE(end.deviation, 0);
                            ASSERT_LE(end.deviation / 4, width + slack);
                            ASSERT_GE(model.tells(length - 1), 0);
                            ASSERT_LE(model.tells(length - 1), 1);
                        }
                }
}

TEST(CurveModel, PredictionsStayWithinThePossibleValuesInTheirOrder) {
    // Accuracies that rise by .3 from .5 to .8, of which one begins at .79: a line leads it beyond 1.
    std::vector<CurvePath> paths;
    for (int i = 0; i < 8; ++i) paths.push_back({-0.5 - 0.01 * i, -0.8 - 0.02 * i});
    for (const double first : {-0.7, -0.74, -0.79}) paths.push_back({first});
    std::vector<const CurvePath*> all;
    for (const CurvePath& path : paths) all.push_back(&path);
    const auto ends = [&](const std::string& metric) {
        CurveModel model(2, possible_values(metric, Direction::maximize));
        model.fit(all);
        return std::vector{model.end({-0.52}).value, model.end({-0.7}).value, model.end({-0.74}).value,
                           model.end({-0.79}).value};
    };
    const auto free = ends("score"), kept = ends("val_accuracy");
    EXPECT_LT(free[3], -1);
    EXPECT_EQ(kept[0], free[0]);
    EXPECT_GT(kept[3], -1);
    EXPECT_LT(kept[3], kept[2]);
    EXPECT_LT(kept[2], kept[1]);
    EXPECT_EQ(ends("r2")[3], kept[3]);
    EXPECT_EQ(ends("neg_loss"), free);
    paths.push_back({-0.5, -80});  // in percent
    all.clear();
    for (const CurvePath& path : paths) all.push_back(&path);
    EXPECT_EQ(ends("r2"), ends("score"));
}

TEST(PossibleValues, FollowFromTheNameOfAMetric) {
    const auto low_of = [](const char* metric, Direction direction) {
        const auto ranges = possible_values(metric, direction);
        return ranges.empty() ? -INFINITY : ranges.front().low;
    };
    EXPECT_EQ(low_of("val_loss", Direction::minimize), 0);
    EXPECT_EQ(low_of("test/RMSE", Direction::minimize), 0);
    EXPECT_EQ(low_of("Val Acc", Direction::maximize), -1);
    EXPECT_EQ(low_of("val_r2", Direction::maximize), -1);
    EXPECT_EQ(low_of("reward", Direction::maximize), -INFINITY);
    EXPECT_EQ(low_of("neg_mean_squared_error", Direction::maximize), -INFINITY);
    EXPECT_EQ(possible_values("accuracy", Direction::maximize).back().low, -100);
}

TEST(CurveModel, PredictionsOfAShiftedAndScaledMetricAreShiftedAndScaled) {
    for (const Family& family : families()) {
        if (!family.moves) continue;
        const auto paths = drawn(family, 30);
        const CurveModel model = learnt(family_nodes, paths);
        for (const auto& [scale, shift] :
             std::vector<std::pair<double, double>>{{1e12, 0}, {1e-12, 0}, {1, 1e3}, {8, -64}}) {
            std::vector<CurvePath> moved = paths;
            for (CurvePath& path : moved)
                for (double& value : path) value = shift + scale * value;
            const CurveModel other = learnt(family_nodes, moved);
            for (std::size_t n = 0; n < paths.size(); ++n) {
                SCOPED_TRACE(family.name + ", scale " + std::to_string(scale) + ", trial " + std::to_string(n));
                const auto end = model.end(paths[n]), moved_end = other.end(moved[n]);
                if (!std::isfinite(end.value)) continue;
                EXPECT_NEAR((moved_end.value - shift) / scale, end.value, 1e-6);
                EXPECT_NEAR(moved_end.deviation / scale, end.deviation, 1e-6);
            }
            for (std::size_t node = 0; node + 1 < family_nodes; ++node)
                EXPECT_NEAR(other.tells(node), model.tells(node), 1e-6) << family.name;
        }
    }
}

TEST(CurveModel, EqualChangesSayNothingAboutOtherChanges) {
    // The changes of the first four trials are equal up to the rounding of 38 / 300 + 7 / 300 and the like.
    std::vector<CurvePath> paths;
    for (int n = 0; n < 4; ++n) paths.push_back({-(38 + n) / 300., -(45 + n) / 300., -(70 + 2 * n) / 300.});
    const CurveModel model = learnt(3, paths);
    EXPECT_NEAR(model.end({-38 / 300., -40 / 300.}).value, -65 / 300., 0.03);
}

TEST(CurveModel, AWorseTrialAmongEqualOnesIsPredictedToEndWorse) {
    const CurveModel model = learnt(2, {{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}, {0.9}});
    EXPECT_GT(model.end({0.9}).value, 0.7);
}

TEST(CurveModel, WhereAllTrialsDivergeNoEndIsPredictedBetterThanTheValuesBefore) {
    const CurveModel model = learnt(2, {{5, INFINITY}, {5.1, INFINITY}, {5.2, INFINITY}});
    EXPECT_GE(model.end({5.05}).value, 5);
}

TEST(CurveModel, APredictionBeyondTheSeenValuesIsUncertain) {
    std::vector<CurvePath> paths;
    for (std::uint64_t n = 0; n < 20; ++n) paths.push_back({1 + uniform(n, 0), 10 * (1 + uniform(n, 0))});
    const CurveModel model = learnt(2, paths);
    EXPECT_GT(model.end({-30}).deviation, model.end({1.5}).deviation + 1);
    EXPECT_LT(model.end({-40}).value, model.end({-30}).value) << "their order stays";
}

}  // namespace
}  // namespace hpo
