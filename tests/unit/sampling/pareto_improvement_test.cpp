// The expected growth of a Pareto front, compared with the mean over many draws of the objectives.
#include "orchestrator/sampling/pareto_improvement.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "hpo/random.hpp"
#include "hpo/standing.hpp"

namespace hpo {
namespace {

double drawn(std::uint64_t element) { return draw_unit(5, Purpose::synthetic, 9, element); }

double drawn_normal(std::uint64_t element) {
    return std::sqrt(-2 * std::log(1 - drawn(2 * element))) * std::cos(2 * std::numbers::pi * drawn(2 * element + 1));
}

/// Returns a process fitted to a wave in two coordinates that begins at `phase`.
GaussianProcess wave(double phase) {
    Inputs inputs;
    inputs.categorical = {false, false};
    inputs.count = 12;
    std::vector<double> targets;
    for (std::size_t d = 0; d < 2; ++d)
        for (std::size_t i = 0; i < inputs.count; ++i) inputs.values.push_back(drawn(100 * d + i));
    for (std::size_t i = 0; i < inputs.count; ++i)
        targets.push_back(std::sin(4 * inputs.at(i, 0) + phase) + inputs.at(i, 1));
    Hyperparameters parameters = prior_hyperparameters(inputs, Kernel::joint);
    return {std::move(inputs), targets, parameters};
}

class ParetoImprovementTest : public ::testing::Test {
   protected:
    std::function<double()> uniform = [element = std::uint64_t{5000}]() mutable { return drawn(element++); };
    GaussianProcess first = wave(0), second = wave(2), third = wave(4), fourth = wave(1);
    std::vector<double> input{0.3, 0.4}, slope{0, 0};
};

TEST_F(ParetoImprovementTest, IsTheExpectedGrowthOfTheHypervolume) {
    for (const auto& at : {std::vector{0.3, 0.4}, std::vector{0.9, 0.1}, std::vector{0.5, 0.9}}) {
        const auto one = first.predict(at), two = second.predict(at);
        const auto point = [&](double x, double y) {
            return std::vector{one.mean + x * one.deviation, two.mean + y * two.deviation};
        };
        const std::vector<std::vector<double>> front{point(-1, 1), point(0.3, -0.5), point(2, -1.5)};
        const std::vector<double> reference = point(2.3, 1.25);  // a tenth of the front's extent beyond it
        const ParetoImprovement improvement({&first, &second}, {}, front, positive_directions(2, 400, uniform), 0.1);
        const double before = hypervolume(front, reference);
        double sum = 0;
        const int draws = 20'000;
        for (std::uint64_t i = 0; i < draws; ++i) {
            auto with = front;
            with.push_back(point(drawn_normal(2 * i), drawn_normal(2 * i + 1)));
            sum += (hypervolume(with, reference) - before) / draws;
        }
        // The volume is the average over directions times the area of a quarter of the unit circle.
        const double value = std::exp(improvement.value(at, slope)) * std::numbers::pi / 4;
        EXPECT_NEAR(value / sum, 1, 0.06) << at[0];
        EXPECT_DOUBLE_EQ(improvement.values({at})[0], improvement.value(at, slope));
    }
}

TEST_F(ParetoImprovementTest, ItsSlopesAreThoseOfDifferencesAlsoWhereThereIsLittleHope) {
    for (const double shift : {0.0, -6.0}) {  // the front is out of reach
        std::vector<std::vector<double>> front{{-0.6 + shift, 1.2 + shift, 0.1}, {0.2 + shift, 0.3 + shift, 0.2}};
        const ParetoImprovement improvement({&first, &second, &third}, {{&fourth, 0.3}}, front,
                                            positive_directions(3, 8, uniform), 0.1);
        improvement.value(input, slope);
        for (std::size_t d = 0; d < 2; ++d) {
            constexpr double step = 1e-5;
            std::vector<double> above = input, below = input;
            above[d] += step, below[d] -= step;
            const auto ends = improvement.values({above, below});
            ASSERT_TRUE(std::isfinite(ends[0]));
            const double difference = (ends[0] - ends[1]) / (2 * step);
            EXPECT_NEAR(slope[d], difference, 0.1 * std::abs(difference) + 0.05) << shift << " " << d;
        }
    }
}

TEST_F(ParetoImprovementTest, WithOneObjectiveItIsExpectedImprovementTimesTheProbabilityOfKeepingTheConstraint) {
    const ParetoImprovement improvement({&first}, {{&second, 0.2}}, {{0.5}, {-0.3}}, {}, 0.1);
    const auto at = first.predict(input), constraint = second.predict(input);
    const double expected =
        log_expected_improvement(at, -0.3) +
        std::log(0.5 * std::erfc(-(0.2 - constraint.mean) / constraint.deviation / std::numbers::sqrt2));
    EXPECT_NEAR(improvement.value(input, slope), expected, 1e-9);
}

TEST_F(ParetoImprovementTest, WithoutAPointThatKeepsTheConstraintsTheirProbabilityCountsAlone) {
    const ParetoImprovement improvement({&first, &third}, {{&second, 0.2}}, {}, positive_directions(2, 4, uniform),
                                        0.1);
    const auto constraint = second.predict(input);
    EXPECT_NEAR(improvement.value(input, slope), log_probability((0.2 - constraint.mean) / constraint.deviation), 1e-9);
}

TEST(LogProbability, IsFiniteAndSteadyFarOut) {
    EXPECT_NEAR(log_probability(0), std::log(0.5), 1e-12);
    EXPECT_NEAR(log_probability(-5.0001), log_probability(-4.9999), 2e-3);
    EXPECT_NEAR(log_probability(-40), -804.608, 1e-2);
    for (const double z : {-20.0, -3.0, -0.5, 2.0})
        EXPECT_NEAR(log_probability_slope(z), (log_probability(z + 1e-4) - log_probability(z - 1e-4)) / 2e-4, 1e-3)
            << z;
}

}  // namespace
}  // namespace hpo
