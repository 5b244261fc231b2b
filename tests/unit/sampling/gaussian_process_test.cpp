#include "orchestrator/sampling/gaussian_process.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "hpo/random.hpp"
#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/lbfgs.hpp"

namespace hpo {
namespace {

double draw(std::uint64_t i) { return draw_unit(7, Purpose::synthetic, 1, i); }

// ---- dense

std::vector<double> positive_definite(std::size_t size) {
    std::vector<double> root(size * size), product(size * size, 0.0);
    for (std::size_t i = 0; i < root.size(); ++i) root[i] = draw(i) - 0.5;
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j)
            for (std::size_t k = 0; k < size; ++k) product[i * size + j] += root[i * size + k] * root[j * size + k];
    for (std::size_t i = 0; i < size; ++i) product[i * size + i] += 0.5;
    return product;
}

TEST(Dense, TheInverseOfTheFactorGivesTheInverseOfTheMatrix) {
    for (const std::size_t size : {1, 2, 3, 4, 5, 7, 8, 33, 34}) {
        const std::vector<double> matrix = positive_definite(size);
        std::vector<double> factor = matrix;
        ASSERT_TRUE(cholesky(factor, size));
        const std::vector<double> inverse = gram_of_lower(inverse_of_lower(factor, size), size);
        const auto symmetric = [&](std::size_t i, std::size_t j) {
            return inverse[std::max(i, j) * size + std::min(i, j)];
        };
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j < size; ++j) {
                double sum = 0;
                for (std::size_t k = 0; k < size; ++k) sum += matrix[i * size + k] * symmetric(k, j);
                EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-9) << size << ": " << i << ", " << j;
            }
    }
}

TEST(Dense, TheFactorTimesTheSolutionIsTheRightSide) {
    for (const std::size_t size : {1, 2, 3, 4, 5, 7, 8, 33, 34}) {
        std::vector<double> factor = positive_definite(size), right(size), product(size);
        ASSERT_TRUE(cholesky(factor, size));
        for (std::size_t i = 0; i < size; ++i) right[i] = draw(500 + i);
        multiply_lower(factor, solve_lower(factor, right), product);
        for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(product[i], right[i], 1e-12) << size << ": " << i;
    }
}

TEST(Dense, AMatrixThatIsNotPositiveDefiniteHasNoFactor) {
    std::vector<double> matrix{1, 0, 2, 1};
    EXPECT_FALSE(cholesky(matrix, 2));
    matrix = {NAN};
    EXPECT_FALSE(cholesky(matrix, 1));
}

// ---- L-BFGS

double rosenbrock(std::span<const double> x, std::span<double> gradient) {
    gradient[0] = -400 * x[0] * (x[1] - x[0] * x[0]) - 2 * (1 - x[0]);
    gradient[1] = 200 * (x[1] - x[0] * x[0]);
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
}

TEST(Lbfgs, FindsTheMinimumOfRosenbrocksValley) {
    const std::vector<double> low{-5, -5}, high{5, 5};
    const Minimum found = minimise(rosenbrock, {-1.2, 1}, low, high, {.iterations = 200});
    EXPECT_NEAR(found.x[0], 1, 1e-3);
    EXPECT_NEAR(found.x[1], 1, 1e-3);
}

TEST(Lbfgs, StaysWithinItsBounds) {
    const std::vector<double> low{-5, -5}, high{0.5, 5};
    const Minimum found = minimise(rosenbrock, {-1.2, 1}, low, high, {.iterations = 200});
    EXPECT_EQ(found.x[0], 0.5);
    EXPECT_NEAR(found.x[1], 0.25, 1e-4);
}

TEST(Lbfgs, AFunctionThatIsNotFiniteAtItsStartLeavesIt) {
    const std::vector<double> low{0}, high{1};
    const Minimum found = minimise([](auto, auto) { return NAN; }, {0.5}, low, high);
    EXPECT_EQ(found.x[0], 0.5);
}

// ---- the process

struct Example {
    Inputs inputs;
    std::vector<double> targets;
};

/// A smooth function of two numeric coordinates, shifted by a category.
Example example(std::size_t count) {
    Example made;
    made.inputs.count = count;
    made.inputs.categorical = {false, false, true};
    made.inputs.values.resize(3 * count);
    made.inputs.in_cube = 3;
    for (std::size_t i = 0; i < count; ++i) {
        const double x = draw(3 * i), y = draw(3 * i + 1);
        const double category = std::floor(3 * draw(3 * i + 2));
        made.inputs.values[i] = x;
        made.inputs.values[count + i] = y;
        made.inputs.values[2 * count + i] = category;
        made.targets.push_back(std::sin(4 * x) + y * y - 0.5 + 0.3 * category);
    }
    return made;
}

constexpr std::array kernels{Kernel::joint, Kernel::warped, Kernel::additive};

GaussianProcess fitted(const Example& data, Kernel kernel) {
    const auto start = prior_hyperparameters(data.inputs, kernel);
    return {data.inputs, data.targets, fit(data.inputs, data.targets, start, 40).parameters};
}

TEST(GaussianProcessTest, PredictsAFunctionThatItHasSeenFortyTimes) {
    const Example data = example(40);
    for (const Kernel kernel : kernels) {
        const GaussianProcess process = fitted(data, kernel);
        for (const double x : {0.2, 0.5, 0.8})
            for (const double category : {0.0, 1.0, 2.0}) {
                const auto p = process.predict(std::vector<double>{x, 0.4, category});
                EXPECT_NEAR(p.mean, std::sin(4 * x) + 0.16 - 0.5 + 0.3 * category, 0.1) << x << ", " << category;
                EXPECT_LT(p.deviation, 0.2);
            }
    }
}

TEST(GaussianProcessTest, IsCertainWhereItHasSeenTheFunctionAndUncertainFarAway) {
    Example data = example(12);
    for (std::size_t i = 0; i < 24; ++i) data.inputs.values[i] /= 4;  // all in one corner
    const GaussianProcess process = fitted(data, Kernel::joint);
    const std::vector<double> seen{data.inputs.at(0, 0), data.inputs.at(0, 1), data.inputs.at(0, 2)};
    EXPECT_NEAR(process.predict(seen).mean, data.targets[0], 0.05);
    EXPECT_GT(process.predict(std::vector<double>{1, 1, 0}).deviation, 3 * process.predict(seen).deviation);
}

TEST(GaussianProcessTest, FittingLowersTheCost) {
    const Example data = example(25);
    for (const Kernel kernel : kernels) {
        const auto start = prior_hyperparameters(data.inputs, kernel);
        const Fit before = fit(data.inputs, data.targets, start, 0), after = fit(data.inputs, data.targets, start, 40);
        EXPECT_LT(after.cost, before.cost - 1);
        // With a wrong gradient the first fit would have stopped early, and a second one would improve on it.
        EXPECT_NEAR(fit(data.inputs, data.targets, after.parameters, 40).cost, after.cost, 0.05);
    }
}

TEST(GaussianProcessTest, DerivativesAreThoseOfItsPredictions) {
    const Example data = example(20);
    for (const Kernel kernel : kernels) {
        const GaussianProcess process = fitted(data, kernel);
        const std::vector<double> x{0.31, 0.62, 1};
        std::vector<double> by_mean(3), by_deviation(3);
        process.predict(x, by_mean, by_deviation);
        constexpr double step = 1e-5;
        for (std::size_t d = 0; d < 2; ++d) {
            std::vector<double> left = x, right = x;
            left[d] -= step;
            right[d] += step;
            const auto a = process.predict(left), b = process.predict(right);
            EXPECT_NEAR(by_mean[d], (b.mean - a.mean) / (2 * step), 1e-4);
            EXPECT_NEAR(by_deviation[d], (b.deviation - a.deviation) / (2 * step), 1e-3);
        }
        EXPECT_EQ(by_mean[2], 0);
    }
}

TEST(GaussianProcessTest, TheCostIsThatOfAFitWithoutIterations) {
    const Example data = example(20);
    for (const Kernel kernel : kernels) {
        const auto start = prior_hyperparameters(data.inputs, kernel);
        EXPECT_NEAR(cost(data.inputs, data.targets, start), fit(data.inputs, data.targets, start, 0).cost, 1e-9);
    }
}

TEST(GaussianProcessTest, PriorsAreRelativeToTheRangesOfTheInputs) {
    Example whole = example(30);
    Example part = whole;
    part.inputs.ranges = {0.01, 0.1, 1};
    for (std::size_t i = 0; i < 30; ++i) {
        part.inputs.values[i] *= 0.01;
        part.inputs.values[30 + i] *= 0.1;
    }
    for (const Kernel kernel : {Kernel::joint, Kernel::additive}) {
        const auto start = prior_hyperparameters(whole.inputs, kernel);
        auto shorter = start;
        for (auto* lengths : {&shorter.length, &shorter.additive_length})
            for (std::size_t d = 0; d < lengths->size(); ++d) (*lengths)[d] += std::log(part.inputs.ranges[d]);
        const Fit one = fit(whole.inputs, whole.targets, start, 15),
                  other = fit(part.inputs, part.targets, shorter, 15);
        EXPECT_NEAR(one.cost, other.cost, 1e-3);
        for (std::size_t d = 0; d < 3; ++d)
            EXPECT_NEAR(one.parameters.length[d] + std::log(part.inputs.ranges[d]), other.parameters.length[d], 1e-2);
    }
}

TEST(GaussianProcessTest, PredictsSeveralPointsAsItPredictsEach) {
    for (const std::size_t count : {1, 7, 30}) {  // below and above the sizes of blocks
        const Example data = example(count);
        const GaussianProcess process(data.inputs, data.targets, prior_hyperparameters(data.inputs, Kernel::additive));
        std::vector<std::vector<double>> points;
        for (std::uint64_t p = 0; p < 19; ++p) points.push_back({draw(900 + 2 * p), draw(901 + 2 * p), 1});
        const auto all = process.predict_all(points);
        std::vector<double> by_mean(3), by_deviation(3);
        for (std::size_t p = 0; p < points.size(); ++p) {
            const auto one = process.predict(points[p], by_mean, by_deviation);
            EXPECT_NEAR(all[p].mean, one.mean, 1e-9);
            EXPECT_NEAR(all[p].deviation, one.deviation, 1e-9);
            EXPECT_NEAR(process.mean(points[p]), one.mean, 1e-9);
        }
    }
}

TEST(GaussianProcessTest, WarpsPredictAFunctionThatVariesAtOneEnd) {
    Example data = example(30);
    const auto value = [](double x) { return std::sin(9 * x * x * x); };
    for (std::size_t i = 0; i < 30; ++i) data.targets[i] = value(data.inputs.at(i, 0));
    const auto error = [&](Kernel kernel) {
        const GaussianProcess process = fitted(data, kernel);
        double squares = 0;
        for (double x = 0.01; x < 1; x += 0.02)
            squares += std::pow(process.mean(std::vector{x, 0.5, 1.0}) - value(x), 2);
        return squares;
    };
    EXPECT_LT(error(Kernel::warped), error(Kernel::joint) / 2);
}

TEST(GaussianProcessTest, CategoriesAndInputsOutsideTheCubeAreNotWarped) {
    Example data = example(12);
    data.inputs.in_cube = 1;
    Hyperparameters parameters = prior_hyperparameters(data.inputs, Kernel::warped);
    ASSERT_EQ(parameters.warp.size(), 2u);
    const GaussianProcess straight(data.inputs, data.targets, parameters);
    data.inputs.in_cube = 3;
    parameters.warp = {0, 0, 1.5, 0, 0, -1.5};  // of the category alone
    const GaussianProcess other(data.inputs, data.targets, parameters);
    const std::vector<double> x{0.3, 1.7, 2};
    EXPECT_NEAR(straight.mean(x), other.mean({std::vector{0.3, 1 - 1e-6, 2.0}}), 1) << "both are finite";
    const std::vector<double> inside{0.3, 0.7, 2};
    EXPECT_NEAR(straight.mean(inside), other.mean(inside), 1e-9);
}

TEST(DrawTest, WithoutEvidenceFollowsThePriors) {
    Inputs inputs{1, {false, false}, {0.5, 0.5}};
    inputs.in_cube = 2;
    const std::vector<double> targets{0};
    const Hyperparameters prior = prior_hyperparameters(inputs, Kernel::warped);
    std::uint64_t element = 0;
    const auto uniform = [&] { return draw(element++); };
    constexpr int draws = 1000;
    double lengths = 0, square_lengths = 0, square_warps = 0;
    Hyperparameters at = prior;
    for (int i = 0; i < draws; ++i) {
        at = draw_hyperparameters(inputs, targets, at, 1, uniform);
        const double length = at.length[0] - prior.length[0];
        lengths += length / draws;
        square_lengths += length * length / draws;
        square_warps += at.warp[3] * at.warp[3] / draws;
    }
    EXPECT_NEAR(lengths, 0, 0.2);
    EXPECT_NEAR(square_lengths, 1, 0.25);  // the variance of the prior
    EXPECT_NEAR(square_warps, 0.25, 0.06);
}

TEST(DrawTest, StaysWhereTheEvidenceIs) {
    const Example data = example(40);
    for (const Kernel kernel : kernels) {
        const Fit best = fit(data.inputs, data.targets, prior_hyperparameters(data.inputs, kernel), 40);
        std::uint64_t element = 0;
        const Hyperparameters drawn =
            draw_hyperparameters(data.inputs, data.targets, best.parameters, 12, [&] { return draw(element++); });
        EXPECT_NE(drawn.length, best.parameters.length);
        const double there = cost(data.inputs, data.targets, drawn);
        EXPECT_GT(there, best.cost - 0.1);
        // A chi-squared variable of as many degrees as there are hyperparameters, over two, with a margin.
        EXPECT_LT(there, best.cost + 15);
    }
}

TEST(DrawTest, ASingularStartIsReturned) {
    Inputs inputs{2, {false}, {0.5, 0.5}};
    Hyperparameters start = prior_hyperparameters(inputs, Kernel::joint);
    start.scale = 40;  // beyond all reason
    const Hyperparameters drawn = draw_hyperparameters(inputs, std::vector{0.0, 1.0}, start, 3, [] { return 0.5; });
    EXPECT_EQ(drawn.scale, start.scale);
}

TEST(GaussianProcessTest, CovariancesAreThoseOfItsPredictions) {
    const GaussianProcess process = fitted(example(20), Kernel::additive);
    const std::vector<std::size_t> some{3, 0, 17};
    const std::vector<double> matrix = process.covariance(some);
    ASSERT_EQ(matrix.size(), 9u);
    for (std::size_t i = 0; i < 3; ++i) {
        const double deviation = process.predict(process.inputs().row(some[i])).deviation;
        EXPECT_NEAR(matrix[4 * i], deviation * deviation, 1e-9);
        for (std::size_t j = 0; j < 3; ++j) {
            EXPECT_EQ(matrix[3 * i + j], matrix[3 * j + i]);
            EXPECT_LE(matrix[3 * i + j] * matrix[3 * i + j], matrix[4 * i] * matrix[4 * j] * (1 + 1e-6));
        }
    }
}

TEST(GaussianProcessTest, LeavingOneOutIsWhatTheOthersPredict) {
    const Example data = example(10);
    const auto parameters = prior_hyperparameters(data.inputs, Kernel::joint);
    const auto all = GaussianProcess(data.inputs, data.targets, parameters).leave_one_out();
    for (std::size_t left = 0; left < 10; ++left) {
        Inputs others{9, data.inputs.categorical, {}};
        std::vector<double> targets;
        for (std::size_t d = 0; d < 3; ++d)
            for (std::size_t i = 0; i < 10; ++i)
                if (i != left) others.values.push_back(data.inputs.at(i, d));
        for (std::size_t i = 0; i < 10; ++i)
            if (i != left) targets.push_back(data.targets[i]);
        const std::vector<double> x{data.inputs.at(left, 0), data.inputs.at(left, 1), data.inputs.at(left, 2)};
        const auto one = GaussianProcess(others, targets, parameters).predict(x);
        const double noise = std::exp(parameters.noise) + 1e-8;
        EXPECT_NEAR(all[left].mean, one.mean, 1e-6);
        EXPECT_NEAR(all[left].deviation, std::sqrt(one.deviation * one.deviation + noise), 1e-6);
    }
}

TEST(GaussianProcessTest, TheSameInputTwiceIsNoError) {
    Example data = example(6);
    for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t i = 0; i < 6; ++i) data.inputs.values[d * 6 + i] = data.inputs.values[d * 6];
    const GaussianProcess process = fitted(data, Kernel::additive);
    EXPECT_TRUE(std::isfinite(process.predict(std::vector<double>{0.5, 0.5, 0}).mean));
}

// ---- expected improvement

TEST(ExpectedImprovement, IsTheIntegralOverTheNormalDensity) {
    for (const double mean : {-1.0, 0.0, 0.5, 2.0, 4.0}) {
        const double deviation = 0.7;
        double integral = 0;
        constexpr double step = 1e-4;
        for (double z = -9; z < 9; z += step) {
            const double y = mean + deviation * z;
            if (y < 0) integral -= y * std::exp(-z * z / 2) / std::sqrt(2 * M_PI) * step;
        }
        EXPECT_NEAR(log_expected_improvement({mean, deviation}, 0), std::log(integral), 1e-3) << mean;
    }
}

TEST(ExpectedImprovement, ItsLogarithmIsFiniteAndFallsHoweverUnlikelyImprovementIs) {
    double before = log_expected_improvement({0, 1}, 0);
    for (const double mean : {0.5, 0.999, 1.001, 3.0, 4.99, 5.01, 20.0, 29.9, 30.1, 1e3, 1e6}) {
        const double value = log_expected_improvement({mean, 1}, 0);
        EXPECT_TRUE(std::isfinite(value)) << mean;
        EXPECT_LT(value, before) << mean;
        before = value;
    }
    EXPECT_NEAR(log_expected_improvement({29.999, 1}, 0), log_expected_improvement({30.001, 1}, 0), 0.1);
}

TEST(ExpectedImprovement, ItsMaximumLiesWhereTheModelExpectsTheLeastAndTheBestCategory) {
    const Example data = example(60);
    const GaussianProcess process = fitted(data, Kernel::additive);
    SearchSpace space;
    space.bins = {0, 0, 3};
    space.categorical = {false, false, true};
    space.active = [](const Point& point) { return std::vector<bool>(point.size(), true); };
    std::uint64_t element = 1000;
    const Point found =
        maximise(ExpectedImprovement(process, *std::min_element(data.targets.begin(), data.targets.end())), space,
                 {{0, 0, 0}, {1, 1, 1}}, {}, 100, [&] { return draw(element++); });
    EXPECT_GT(found[0], 0.8);  // the minimum of the sine
    EXPECT_LT(found[1], 0.2);
    EXPECT_LT(found[2], 1.0 / 3);
}

}  // namespace
}  // namespace hpo
