// The steps of recurrent models, compared with their definitions and with finite differences.
#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

constexpr Shape step_shapes[] = {{1, 1}, {3, 7}, {2, 67}};  // few, since differences take their time

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(SwapRows, TurnsSamplesOfStepsIntoStepsOfSamplesAndBack) {
    constexpr std::int64_t samples = 5, steps = 7;
    for (const std::int64_t columns : {1, 3, 70})
        fused_and_alone([&](Harness& harness) {
            const Tensor input = harness.random(samples * steps, columns),
                         swapped = harness.output(samples * steps, columns),
                         back = harness.output(samples * steps, columns);
            harness.start();
            harness.stream().enqueue(SwapRows{input, swapped, steps});
            harness.stream().enqueue(SwapRows{swapped, back, samples});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(input, k), y = harness.values(swapped, k);
                for (std::int64_t sample = 0; sample < samples; ++sample)
                    for (std::int64_t step = 0; step < steps; ++step)
                        for (std::int64_t i = 0; i < columns; ++i)
                            EXPECT_EQ(y[number((step * samples + sample) * columns + i)],
                                      x[number((sample * steps + step) * columns + i)]);
                EXPECT_EQ(harness.values(back, k), x);
            }
        });
}

/// The outputs of a GRU's step, and in `parts` r, z, n and h_n of each element one behind the other.
Numbers gru(std::int64_t width, const Numbers& x, const Numbers& h, const Numbers& x_bias, const Numbers& h_bias,
            const Numbers& before, std::vector<std::array<double, 4>>* parts = nullptr) {
    Numbers y(before.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t w = number(width), column = i % w, at = i / w * 3 * w + column;
        const double r = sigmoid(x[at] + x_bias[column] + h[at] + h_bias[column]);
        const double z = sigmoid(x[at + w] + x_bias[column + w] + h[at + w] + h_bias[column + w]);
        const double through = h[at + 2 * w] + h_bias[column + 2 * w];
        const double n = std::tanh(x[at + 2 * w] + x_bias[column + 2 * w] + r * through);
        y[i] = (1 - z) * n + z * before[i];
        if (parts) parts->push_back({r, z, n, through});
    }
    return y;
}

TEST(GruStep, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const Shape& shape : step_shapes) {
        fused_and_alone([&](Harness& harness) {
            const std::int64_t rows = shape.rows, width = shape.columns;
            const Tensor gates = harness.random(rows, 3 * width, -2, 2),
                         recurrent = harness.random(rows, 3 * width, -2, 2), x_bias = harness.random(1, 3 * width),
                         h_bias = harness.random(1, 3 * width), before = harness.random(rows, width),
                         candidate = harness.output(rows, width), output = harness.output(rows, width),
                         up = harness.random(rows, width), of_recurrent = harness.output(rows, 3 * width),
                         of_before = harness.random(rows, width);
            harness.start();
            std::vector<Numbers> x, sum;
            for (int k = 0; k < harness.replicas(); ++k) {
                x.push_back(harness.values(gates, k));
                sum.push_back(harness.values(of_before, k));
            }
            harness.stream().enqueue(GruStep{.gates = gates,
                                             .recurrent = recurrent,
                                             .input_bias = x_bias,
                                             .recurrent_bias = h_bias,
                                             .before = before,
                                             .candidate = candidate,
                                             .output = output});
            for (int k = 0; k < harness.replicas(); ++k) {
                std::vector<std::array<double, 4>> parts;
                expect_near(harness.values(output, k),
                            gru(width, x[number(k)], harness.values(recurrent, k), harness.values(x_bias, k),
                                harness.values(h_bias, k), harness.values(before, k), &parts),
                            1e-5);
                const Numbers kept = harness.values(gates, k), through = harness.values(candidate, k);
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    const std::size_t w = number(width), at = i / w * 3 * w + i % w;
                    EXPECT_NEAR(kept[at], parts[i][0], 1e-5);
                    EXPECT_NEAR(kept[at + w], parts[i][1], 1e-5);
                    EXPECT_NEAR(kept[at + 2 * w], parts[i][2], 1e-5);
                    EXPECT_NEAR(through[i], parts[i][3], 1e-5);
                }
            }
            harness.stream().enqueue(GruStepBackward{.gradient = up,
                                                     .gates = gates,
                                                     .candidate = candidate,
                                                     .before = before,
                                                     .recurrent_gradient = of_recurrent,
                                                     .before_gradient = of_before});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers h = harness.values(recurrent, k), a = harness.values(x_bias, k),
                              b = harness.values(h_bias, k), was = harness.values(before, k), g = harness.values(up, k);
                expect_near(
                    harness.values(gates, k),
                    differences(x[number(k)], [&](const Numbers& v) { return dot(gru(width, v, h, a, b, was), g); }),
                    1e-5);
                expect_near(
                    harness.values(of_recurrent, k),
                    differences(h, [&](const Numbers& v) { return dot(gru(width, x[number(k)], v, a, b, was), g); }),
                    1e-5);
                // Only what goes past h is added here.
                Numbers direct =
                    differences(was, [&](const Numbers& v) { return dot(gru(width, x[number(k)], h, a, b, v), g); });
                for (std::size_t i = 0; i < direct.size(); ++i) direct[i] += sum[number(k)][i];
                expect_near(harness.values(of_before, k), direct, 1e-5);
            }
        });
    }
}

struct LstmResult {
    Numbers output, cell;
};
LstmResult lstm(std::int64_t width, const Numbers& x, const Numbers& h, const Numbers& bias, const Numbers& before) {
    LstmResult y{Numbers(before.size()), Numbers(before.size())};
    for (std::size_t i = 0; i < before.size(); ++i) {
        const std::size_t w = number(width), column = i % w, at = i / w * 4 * w + column;
        const auto sum = [&](std::size_t gate) {
            return x[at + gate * w] + h[at + gate * w] + bias[column + gate * w];
        };
        y.cell[i] = sigmoid(sum(1)) * before[i] + sigmoid(sum(0)) * std::tanh(sum(2));
        y.output[i] = sigmoid(sum(3)) * std::tanh(y.cell[i]);
    }
    return y;
}

TEST(LstmStep, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const Shape& shape : step_shapes) {
        fused_and_alone([&](Harness& harness) {
            const std::int64_t rows = shape.rows, width = shape.columns;
            const Tensor gates = harness.random(rows, 4 * width, -2, 2),
                         recurrent = harness.random(rows, 4 * width, -2, 2), bias = harness.random(1, 4 * width),
                         before = harness.random(rows, width), cell = harness.output(rows, width),
                         output = harness.output(rows, width), up = harness.random(rows, width),
                         of_cell = harness.random(rows, width);
            harness.start();
            std::vector<Numbers> x, later;
            for (int k = 0; k < harness.replicas(); ++k) {
                x.push_back(harness.values(gates, k));
                later.push_back(harness.values(of_cell, k));
            }
            harness.stream().enqueue(LstmStep{.gates = gates,
                                              .recurrent = recurrent,
                                              .bias = bias,
                                              .cell_before = before,
                                              .cell = cell,
                                              .output = output});
            for (int k = 0; k < harness.replicas(); ++k) {
                const LstmResult wanted = lstm(width, x[number(k)], harness.values(recurrent, k),
                                               harness.values(bias, k), harness.values(before, k));
                expect_near(harness.values(output, k), wanted.output, 1e-5);
                expect_near(harness.values(cell, k), wanted.cell, 1e-5);
            }
            harness.stream().enqueue(LstmStepBackward{
                .gradient = up, .cell_gradient = of_cell, .gates = gates, .cell_before = before, .cell = cell});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers h = harness.values(recurrent, k), b = harness.values(bias, k),
                              was = harness.values(before, k), g = harness.values(up, k);
                const auto loss = [&](const LstmResult& y) { return dot(y.output, g) + dot(y.cell, later[number(k)]); };
                expect_near(
                    harness.values(gates, k),
                    differences(x[number(k)], [&](const Numbers& v) { return loss(lstm(width, v, h, b, was)); }), 1e-5);
                expect_near(
                    harness.values(of_cell, k),
                    differences(was, [&](const Numbers& v) { return loss(lstm(width, x[number(k)], h, b, v)); }), 1e-5);
            }
        });
    }
}

TEST(LinearBackward, MayLeaveTheWeightsGradientOut) {
    fused_and_alone([&](Harness& harness) {
        const Tensor gradient = harness.random(5, 9), input = harness.random(5, 7), weight = harness.random(9, 7),
                     below = harness.output(5, 7), wanted = harness.output(5, 7), of_weight = harness.output(9, 7);
        harness.start();
        harness.stream().enqueue(
            LinearBackward{.output_gradient = gradient, .input = input, .weight = weight, .input_gradient = below});
        harness.stream().enqueue(LinearBackward{.output_gradient = gradient,
                                                .input = input,
                                                .weight = weight,
                                                .weight_gradient = of_weight,
                                                .input_gradient = wanted});
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_EQ(harness.bytes(below, k), harness.bytes(wanted, k));
    });
}

}  // namespace
}  // namespace hpo::test
