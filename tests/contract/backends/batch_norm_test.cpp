// Batch normalisation over ghost batches, compared with its definition and with finite differences.
#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

struct Batches {
    std::int64_t rows, ghost, columns;
};
// Whole ghost batches and shorter last ones, of one row and of several parts; columns that fill no group and several.
const Batches batch_shapes[] = {{4, 4, 3}, {7, 3, 1}, {12, 4, 40}, {5, 4, 33}, {1300, 1100, 5}, {600, 600, 2}};

constexpr double batch_norm_epsilon = 1e-5F;

struct Statistics {
    Numbers mean, variance;  ///< of each ghost batch
};

Statistics statistics_of(const Batches& shape, const Numbers& x) {
    Statistics found;
    for (std::int64_t first = 0; first < shape.rows; first += shape.ghost) {
        const std::int64_t end = std::min(shape.rows, first + shape.ghost);
        for (std::int64_t column = 0; column < shape.columns; ++column) {
            double mean = 0, variance = 0;
            for (std::int64_t row = first; row < end; ++row) mean += x[number(row * shape.columns + column)];
            mean /= static_cast<double>(end - first);
            for (std::int64_t row = first; row < end; ++row)
                variance += std::pow(x[number(row * shape.columns + column)] - mean, 2);
            found.mean.push_back(mean);
            found.variance.push_back(variance / static_cast<double>(end - first));
        }
    }
    return found;
}

Numbers normalised(const Batches& shape, const Numbers& x, const Numbers& scale, const Numbers& shift) {
    const Statistics its = statistics_of(shape, x);
    Numbers y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t column = i % number(shape.columns);
        const std::size_t at = i / number(shape.columns) / number(shape.ghost) * number(shape.columns) + column;
        y[i] = (x[i] - its.mean[at]) / std::sqrt(its.variance[at] + batch_norm_epsilon) * scale[column] + shift[column];
    }
    return y;
}

/// The gradients of dot(normalised(x), g), by the formulas of the derivative.
struct Gradients {
    Numbers input, scale, shift;
};
Gradients gradients_of(const Batches& shape, const Numbers& x, const Numbers& scale, const Numbers& g) {
    const Statistics its = statistics_of(shape, x);
    const std::size_t columns = number(shape.columns);
    Gradients found{Numbers(x.size()), Numbers(columns), Numbers(columns)};
    for (std::int64_t first = 0; first < shape.rows; first += shape.ghost) {
        const std::int64_t end = std::min(shape.rows, first + shape.ghost);
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t at = number(first / shape.ghost) * columns + column;
            const double rstd = 1 / std::sqrt(its.variance[at] + batch_norm_epsilon),
                         count = static_cast<double>(end - first);
            const auto z = [&](std::size_t i) { return (x[i] - its.mean[at]) * rstd; };
            double sum = 0, moment = 0;
            for (std::size_t i = number(first) * columns + column; i < number(end) * columns; i += columns) {
                sum += g[i];
                moment += g[i] * z(i);
            }
            found.shift[column] += sum;
            found.scale[column] += moment;
            for (std::size_t i = number(first) * columns + column; i < number(end) * columns; i += columns)
                found.input[i] = rstd * scale[column] * (g[i] - sum / count - z(i) * moment / count);
        }
    }
    return found;
}

TEST(BatchNorm, TheGradientByFormulasIsThatOfFiniteDifferences) {
    for (const Batches& shape : {batch_shapes[0], batch_shapes[1], batch_shapes[3]}) {
        const auto drawn = [](std::int64_t count, std::uint64_t stream) {
            Numbers values(number(count));
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = draw_unit(3, Purpose::synthetic, stream, i) * 4 - 1;
            return values;
        };
        const Numbers x = drawn(shape.rows * shape.columns, 1), g = drawn(shape.rows * shape.columns, 2),
                      scale = drawn(shape.columns, 3), shift = drawn(shape.columns, 4);
        const Gradients found = gradients_of(shape, x, scale, g);
        expect_near(found.input, differences(x, [&](auto& v) { return dot(normalised(shape, v, scale, shift), g); }),
                    1e-4);
        expect_near(found.scale, differences(scale, [&](auto& v) { return dot(normalised(shape, x, v, shift), g); }),
                    1e-6);
        expect_near(found.shift, differences(shift, [&](auto& v) { return dot(normalised(shape, x, scale, v), g); }),
                    1e-6);
    }
}

/// All tensors of an operation.
struct BatchNormCase {
    BatchNorm forward;
    BatchNormBackward backward;

    BatchNormCase(Harness& harness, const Batches& shape, std::uint32_t iteration = 0, double offset = 0) {
        const std::int64_t ghosts = ghost_batches(shape.rows, shape.ghost);
        forward = {.ghost = shape.ghost,
                   .batch = shape.rows,
                   .input = harness.random(shape.rows, shape.columns, offset - 2, offset + 1),
                   .scale = harness.random(1, shape.columns),
                   .shift = harness.random(1, shape.columns),
                   .output = harness.output(shape.rows, shape.columns),
                   .mean = harness.output(ghosts, shape.columns),
                   .rstd = harness.output(ghosts, shape.columns),
                   .running_mean = harness.random(1, shape.columns),
                   .running_variance = harness.random(1, shape.columns, 0.5, 2),
                   .iteration = harness.per_replica<std::uint32_t>([=](int) { return iteration; }),
                   .parts = harness.output(batch_norm_parts(shape.rows, shape.ghost), 2 * shape.columns)};
        backward = {.ghost = shape.ghost,
                    .gradient = harness.random(shape.rows, shape.columns),
                    .input = forward.input,
                    .mean = forward.mean,
                    .rstd = forward.rstd,
                    .scale = forward.scale,
                    .scale_gradient = harness.output(1, shape.columns),
                    .shift_gradient = harness.output(1, shape.columns),
                    .parts = forward.parts};
    }
};

TEST(BatchNorm, NormalisesEachGhostBatchAndItsGradientFollows) {
    for (const Batches& shape : batch_shapes)
        fused_and_alone([&](Harness& harness) {
            SCOPED_TRACE(std::to_string(shape.rows) + " rows by " + std::to_string(shape.ghost));
            const BatchNormCase it(harness, shape);
            const Tensor again = harness.output(shape.rows, shape.columns);
            harness.start();
            std::vector<Numbers> g;
            for (int k = 0; k < harness.replicas(); ++k) g.push_back(harness.values(it.backward.gradient, k));
            harness.stream().enqueue(Copy{it.backward.gradient, again});
            harness.stream().enqueue(it.forward);
            harness.stream().enqueue(it.backward);
            BatchNormBackward add = it.backward;
            add.gradient = again;
            add.write = Write::add;
            harness.stream().enqueue(add);
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(it.forward.input, k), scale = harness.values(it.forward.scale, k);
                expect_near(harness.values(it.forward.output, k),
                            normalised(shape, x, scale, harness.values(it.forward.shift, k)), 2e-4);
                Gradients wanted = gradients_of(shape, x, scale, g[number(k)]);
                expect_near(harness.values(it.backward.gradient, k), wanted.input, 5e-3);
                for (Numbers* gradient : {&wanted.scale, &wanted.shift})
                    for (double& one : *gradient) one *= 2;
                expect_near(harness.values(it.backward.scale_gradient, k), wanted.scale, 1e-3);
                expect_near(harness.values(it.backward.shift_gradient, k), wanted.shift, 1e-4);
            }
        });
}

TEST(BatchNorm, RunningStatisticsFollowTheMeanOverTheGhostBatches) {
    for (const std::uint32_t iteration : {0U, 3U, 500U}) {
        const double d = std::max(0.1, 1.0 / (iteration + 1));
        for (const Batches& shape : batch_shapes)
            on_every_device([&](Harness& harness) {
                SCOPED_TRACE(std::to_string(iteration));
                const BatchNormCase it(harness, shape, iteration);
                harness.start();
                Numbers mean = harness.values(it.forward.running_mean, 0),
                        variance = harness.values(it.forward.running_variance, 0);
                const Statistics its = statistics_of(shape, harness.values(it.forward.input, 0));
                for (std::size_t i = 0; i < mean.size(); ++i) {
                    mean[i] *= 1 - d;
                    variance[i] *= 1 - d;
                }
                for (std::size_t i = 0; i < its.mean.size(); ++i) {
                    const auto before = static_cast<std::int64_t>(i / mean.size()) * shape.ghost;
                    const auto rows = static_cast<double>(std::min(shape.ghost, shape.rows - before));
                    const double share = d * rows / static_cast<double>(shape.rows);
                    mean[i % mean.size()] += share * its.mean[i];
                    variance[i % mean.size()] += share * its.variance[i] * (rows > 1 ? rows / (rows - 1) : 1);
                }
                harness.stream().enqueue(it.forward);
                expect_near(harness.values(it.forward.running_mean, 0), mean, 1e-4);
                expect_near(harness.values(it.forward.running_variance, 0), variance, 1e-4);
            });
    }
}

TEST(BatchNorm, MicroBatchesOfWholeGhostBatchesAreTheWholeBatchToTheBit) {
    constexpr Batches shape{11, 4, 37};
    on_every_device([&](Harness& harness) {
        const BatchNormCase whole(harness, shape, 2);
        const Tensor mean = harness.output(1, shape.columns), variance = harness.output(1, shape.columns),
                     output = harness.output(shape.rows, shape.columns);
        harness.start();
        harness.stream().enqueue(Copy{whole.forward.running_mean, mean});
        harness.stream().enqueue(Copy{whole.forward.running_variance, variance});
        harness.stream().enqueue(whole.forward);
        for (const std::int64_t first : {0, 8}) {
            const std::int64_t rows = first == 0 ? 8 : 3;
            BatchNorm part = whole.forward;
            part.input = part.input.slice(first * shape.columns, rows, shape.columns);
            part.output = output.slice(first * shape.columns, rows, shape.columns);
            part.mean = part.mean.first_rows(ghost_batches(rows, 4));
            part.rstd = part.rstd.first_rows(ghost_batches(rows, 4));
            part.running_mean = mean;
            part.running_variance = variance;
            part.write = first == 0 ? Write::set : Write::add;
            harness.stream().enqueue(part);
        }
        EXPECT_EQ(harness.values(output, 0), harness.values(whole.forward.output, 0));
        EXPECT_EQ(harness.values(mean, 0), harness.values(whole.forward.running_mean, 0));
        EXPECT_EQ(harness.values(variance, 0), harness.values(whole.forward.running_variance, 0));
    });
}

TEST(BatchNorm, EvaluatesByTheRunningStatisticsAndLeavesThemAlone) {
    for (const Batches& shape : batch_shapes)
        fused_and_alone([&](Harness& harness) {
            BatchNormCase it(harness, shape);
            harness.start();
            it.forward.ghost = 0;
            std::vector<Numbers> before;
            for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(it.forward.running_mean, k));
            harness.stream().enqueue(it.forward);
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers mean = harness.values(it.forward.running_mean, k),
                              variance = harness.values(it.forward.running_variance, k),
                              scale = harness.values(it.forward.scale, k), shift = harness.values(it.forward.shift, k);
                Numbers y = harness.values(it.forward.input, k);
                for (std::size_t i = 0; i < y.size(); ++i) {
                    const std::size_t c = i % mean.size();
                    y[i] = (y[i] - mean[c]) / std::sqrt(variance[c] + batch_norm_epsilon) * scale[c] + shift[c];
                }
                expect_near(harness.values(it.forward.output, k), y, 1e-5);
                EXPECT_EQ(mean, before[number(k)]);
            }
        });
}

TEST(BatchNorm, ManyRowsFarFromZeroKeepTheirVariance) {
    constexpr Batches shape{20000, 20000, 3};
    on_every_device([&](Harness& harness) {
        const BatchNormCase it(harness, shape, 0, 100);
        harness.start();
        harness.stream().enqueue(it.forward);
        const Statistics its = statistics_of(shape, harness.values(it.forward.input, 0));
        const Numbers rstd = harness.values(it.forward.rstd, 0);
        for (std::size_t i = 0; i < rstd.size(); ++i)
            EXPECT_NEAR(rstd[i] * std::sqrt(its.variance[i] + batch_norm_epsilon), 1, 1e-4);
    });
}

}  // namespace
}  // namespace hpo::test
