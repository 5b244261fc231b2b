// The shares of a metric's variance that parameters explain, with the trials of any sampler.
#include "orchestrator/analysis/fanova.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "hpo/random.hpp"
#include "orchestrator/sampling/proposer.hpp"

namespace hpo::analysis {
namespace {

/// Returns a value in which two of five parameters matter, the second one half as much, with a small interaction.
double two_of_five(const Point& x) {
    const double a = x[0] - 0.3, b = x[1] - 0.7;
    return a * a + 0.5 * b * b + 0.3 * a * b;
}

BinnedTrials searched(const std::string& sampler, std::int64_t trials, std::uint64_t seed, double noise = 0) {
    Study study;
    study.seed = seed;
    study.sampler.type = sampler;
    study.objective.direction = Direction::minimize;
    study.budget.trials = trials;
    for (const char* name : {"a", "b", "c", "d", "e"}) study.space.push_back(Dimension{.name = name});
    Proposer proposer = *Proposer::make(study);
    BinnedTrials binned;
    binned.bins.assign(5, 32);
    binned.ordered.assign(5, true);
    for (std::int64_t number = 1; number <= trials; ++number) {
        const Proposal proposal = *proposer.propose(number);
        TrialRecord trial;
        trial.number = number;
        trial.point = proposal.point;
        trial.params = proposal.params;
        trial.state = TrialState::complete;
        trial.value = two_of_five(trial.point) +
                      noise * (draw_unit(seed, Purpose::synthetic, static_cast<std::uint64_t>(number), 0) - 0.5);
        proposer.proposed(trial);
        proposer.tell(trial);
        std::vector<int> point;
        for (const double x : trial.point) point.push_back(std::min(31, static_cast<int>(x * 32)));
        binned.points.push_back(std::move(point));
        binned.values.push_back(*trial.value);
    }
    return binned;
}

class Searched : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(By, Searched, ::testing::Values("random", "tpe", "gp"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(Searched, AParameterWithoutEffectHasLessThanFivePercentWhereverTheSamplerHasLooked) {
    const bool slow = std::string(GetParam()) == "gp";
    for (std::uint64_t seed = 1; seed <= (slow ? 2 : 3); ++seed) {
        const Variance variance = analyse(searched(GetParam(), slow ? 60 : 100, seed, 0.02), 1);
        EXPECT_GT(variance.alone[0].share, 0.4) << seed;
        EXPECT_TRUE(slow || variance.alone[0].sure()) << seed << ": 60 trials next to each other tell less";
        for (std::size_t dead = 2; dead < 5; ++dead) {
            EXPECT_LT(variance.alone[dead].share, 0.05) << seed << ", " << dead;
            EXPECT_FALSE(variance.alone[dead].sure()) << seed << ", " << dead;
            EXPECT_GT(variance.alone[1].share, variance.alone[dead].share) << seed << ", " << dead;
        }
        EXPECT_GT(variance.explained, 0.2) << seed;
    }
}

TEST(Fanova, SharesOfAWeakParameterNextToAStrongOneAreWithinTwoDeviationsOfTheTruthWhereTrialsAreEnough) {
    for (const std::int64_t count : {60, 120}) {
        int within = 0;
        constexpr int studies = 6;
        for (std::uint64_t seed = 1; seed <= studies; ++seed) {
            BinnedTrials trials = searched("random", count, seed);
            for (std::size_t i = 0; i < trials.values.size(); ++i)
                trials.values[i] = 10 * trials.points[i][0] + 5 * trials.points[i][1];
            const Share weak = analyse(trials, seed).alone[1];
            EXPECT_GT(weak.share, 0.09) << "0.2 in truth";
            within += std::abs(weak.share - 0.2) <= 2 * weak.deviation ? 1 : 0;
        }
        EXPECT_GE(within, count < 100 ? 3 : 5) << count;
    }
}

TEST(Fanova, DeviationsAreSharesEvenWhereNothingIsExplained) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        BinnedTrials noise = searched("random", 60, seed);
        for (std::size_t i = 0; i < noise.values.size(); ++i)
            noise.values[i] = draw_unit(seed, Purpose::synthetic, i, 0);
        for (const Share& share : analyse(noise, seed).alone) {
            EXPECT_LE(share.deviation, 1);
            EXPECT_FALSE(share.sure()) << share.share << " +- " << share.deviation;
        }
    }
}

TEST(Fanova, NoiseAloneExplainsNothing) {
    BinnedTrials noise = searched("random", 80, 1);
    for (std::size_t i = 0; i < noise.values.size(); ++i) noise.values[i] = draw_unit(5, Purpose::synthetic, i, 0);
    const Variance variance = analyse(noise, 1);
    EXPECT_LT(variance.explained, 0.1);
    for (const Share& share : variance.alone) EXPECT_FALSE(share.sure()) << share.share << " +- " << share.deviation;
}

TEST(Fanova, TellsWhatTwoParametersExplainTogetherAndCategoriesToo) {
    BinnedTrials trials = searched("random", 200, 2);
    trials.bins[2] = 3, trials.ordered[2] = false;
    for (std::size_t i = 0; i < trials.values.size(); ++i) {
        auto& point = trials.points[i];
        point[2] = static_cast<int>(i % 3);
        // The first two parameters matter where both are large, and one of three categories is worse.
        trials.values[i] = (point[0] >= 16 && point[1] >= 16 ? 1 : 0) + (point[2] == 1 ? 1 : 0);
    }
    const Variance variance = analyse(trials, 1);
    EXPECT_NEAR(variance.alone[2].share, 0.54, 0.12);
    EXPECT_NEAR(variance.alone[0].share, 0.15, 0.08);
    EXPECT_NEAR(variance.alone[1].share, 0.15, 0.08);
    ASSERT_FALSE(variance.pairs.empty());
    EXPECT_EQ(variance.pairs[0].first, 0u);
    EXPECT_EQ(variance.pairs[0].second, 1u);
    EXPECT_TRUE(variance.pairs[0].share.sure());
    EXPECT_NEAR(variance.pairs[0].share.share, 0.15, 0.08);
}

TEST(BoostedTrees, ItsMeansAreThoseOfItsPredictions) {
    BinnedTrials trials = searched("random", 60, 3);
    trials.bins = {32, 32, 32, 32, 32};
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < trials.points.size(); ++i) all.push_back(i);
    std::uint64_t element = 0;
    const BoostedTrees fitted(trials, all, 5, [&] { return draw_unit(1, Purpose::synthetic, 9, element++); });
    std::vector<double> sums(32, 0.0);
    const int count = 20000;
    double mean = 0;
    for (int i = 0; i < count; ++i) {
        std::vector<int> point;
        for (int d = 0; d < 5; ++d)
            point.push_back(static_cast<int>(
                32 * draw_unit(2, Purpose::synthetic, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(d))));
        mean += fitted.predict(point) / count;
        point[0] = i % 32;
        sums[static_cast<std::size_t>(i % 32)] += fitted.predict(point) / (count / 32.0);
    }
    const std::vector<double> marginal = fitted.marginal(0), both = fitted.marginal(0, 1);
    EXPECT_NEAR(std::accumulate(marginal.begin(), marginal.end(), 0.0) / 32, mean, 0.005);
    for (std::size_t bin = 0; bin < 32; ++bin) {
        EXPECT_NEAR(marginal[bin], sums[bin], 0.02) << bin;
        double row = 0;
        for (std::size_t other = 0; other < 32; ++other) row += both[bin * 32 + other] / 32;
        EXPECT_NEAR(row, marginal[bin], 1e-9);
    }
}

}  // namespace
}  // namespace hpo::analysis
