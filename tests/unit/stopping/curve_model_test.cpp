#include "orchestrator/stopping/curve_model.hpp"

#include <gmock/gmock.h>

#include <cmath>

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

}  // namespace
}  // namespace hpo
