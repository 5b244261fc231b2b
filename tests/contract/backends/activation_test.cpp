#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

constexpr Activation all[] = {Activation::none, Activation::relu, Activation::gelu, Activation::silu};

double f(Activation activation, double a) {
    switch (activation) {
        case Activation::relu:
            return a > 0 ? a : 0;
        case Activation::gelu:
            return a * 0.5 * std::erfc(-a / std::sqrt(2.0));
        case Activation::silu:
            return a / (1 + std::exp(-a));
        default:
            return a;
    }
}

bool in_place(Activation activation) { return activation == Activation::none || activation == Activation::relu; }

/// Returns true if dropout keeps the element, by the draws that the header describes.
bool kept(double probability, std::uint64_t seed, std::uint32_t iteration, std::uint32_t site, std::int64_t row,
          std::int64_t column) {
    const auto q = static_cast<std::uint64_t>(column % 128);
    const std::uint64_t high = (std::uint64_t{site} << 16) + static_cast<std::uint64_t>(column / 128 * 16) + q % 32 / 2;
    const auto block = draw_block(seed, Purpose::dropout, iteration, high << 32 | static_cast<std::uint64_t>(row));
    const std::uint32_t draw = block[q / 32] >> (q % 2 * 16) & 0xFFFF;
    return draw >= std::lround(probability * 65536);
}

double probability_of(int replica) { return replica == 1 ? 0.0 : 0.25 + 0.25 * replica; }

/// A layer's activation with its tensors. The values of pre and bias are moderate or very large.
struct Layer {
    Tensor pre, bias, output, gradient, bias_gradient;
    Dropout dropout;

    Layer(Harness& harness, const Shape& shape, Activation activation, bool drop, double size = 3) {
        pre = harness.random(shape.rows, shape.columns, -size, size);
        bias = harness.random(1, shape.columns);
        output = in_place(activation) ? pre : harness.output(shape.rows, shape.columns);
        gradient = harness.random(shape.rows, shape.columns);
        bias_gradient = harness.output(1, shape.columns);
        if (!drop) return;
        dropout.probability =
            harness.per_replica<float>([](int replica) { return static_cast<float>(probability_of(replica)); });
        dropout.seed = harness.per_replica<std::uint64_t>(
            [](int replica) { return (std::uint64_t{77} << 33) + static_cast<std::uint64_t>(replica); });
        dropout.iteration =
            harness.per_replica<std::uint32_t>([](int replica) { return 40U + static_cast<std::uint32_t>(replica); });
        if (!in_place(activation) || activation == Activation::none)
            dropout.mask =
                harness.integers<std::uint8_t>(shape.rows, shape.columns, [](int, std::int64_t) { return 0xEE; });
        dropout.site = 3;
        dropout.extent = {harness.per_replica<std::uint32_t>([](int) { return 100U; }),
                          harness.per_replica<std::uint32_t>([](int) { return 1U; }), 5};
    }
};

/// Computes dropout(f(pre + bias)) of one replica in doubles.
Numbers reference(Activation activation, const Shape& shape, const Numbers& pre, const Numbers& bias,
                  const Dropout& dropout, int replica) {
    Numbers y(pre.size());
    const double p = dropout.probability ? probability_of(replica) : 0;
    for (std::int64_t i = 0; i < shape.rows * shape.columns; ++i) {
        const std::int64_t row = i / shape.columns, column = i % shape.columns;
        const bool stays = p == 0 || kept(p, (std::uint64_t{77} << 33) + static_cast<std::uint64_t>(replica),
                                          40U + static_cast<std::uint32_t>(replica), 3, row + 5, column);
        y[number(i)] = stays ? f(activation, pre[number(i)] + bias[number(column)]) / (1 - p) : 0;
    }
    return y;
}

TEST(Activation, IsTheFunctionOfPrePlusBiasThenDropout) {
    for (const auto activation : all)
        for (const auto& shape : odd_shapes)
            for (const bool drop : {false, true})
                fused_and_alone([&](Harness& harness) {
                    const Layer c(harness, shape, activation, drop);
                    harness.start();
                    std::vector<Numbers> before;
                    for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(c.pre, k));
                    harness.stream().enqueue(Activate{.activation = activation,
                                                      .pre = c.pre,
                                                      .bias = c.bias,
                                                      .output = c.output,
                                                      .dropout = c.dropout});
                    for (int k = 0; k < harness.replicas(); ++k)
                        expect_near(harness.values(c.output, k),
                                    reference(activation, shape, before[number(k)], harness.values(c.bias, k),
                                              c.dropout, harness.value_index_of(k)),
                                    1e-6);
                });
}

TEST(Activation, GradientsAgreeWithFiniteDifferences) {
    for (const auto activation : all)
        for (const auto& shape : odd_shapes)
            for (const bool drop : {false, true})
                fused_and_alone([&](Harness& harness) {
                    const Layer c(harness, shape, activation, drop);
                    harness.start();
                    std::vector<Numbers> before, up;
                    for (int k = 0; k < harness.replicas(); ++k) {
                        before.push_back(harness.values(c.pre, k));
                        up.push_back(harness.values(c.gradient, k));
                    }
                    harness.stream().enqueue(Activate{.activation = activation,
                                                      .pre = c.pre,
                                                      .bias = c.bias,
                                                      .output = c.output,
                                                      .dropout = c.dropout});
                    harness.stream().enqueue(ActivateBackward{.activation = activation,
                                                              .gradient = c.gradient,
                                                              .pre = c.pre,
                                                              .output = c.output,
                                                              .bias_gradient = c.bias_gradient,
                                                              .dropout = c.dropout,
                                                              .write = Write::set});
                    for (int k = 0; k < harness.replicas(); ++k) {
                        const Numbers bias = harness.values(c.bias, k);
                        const auto run = [&](const Numbers& pre, const Numbers& shift) {
                            return reference(activation, shape, pre, shift, c.dropout, harness.value_index_of(k));
                        };
                        // Each element of the output depends on one element of pre, so one evaluation gives all
                        // differences.
                        const double h = 1e-6;
                        Numbers above = before[number(k)], below = above, wanted(above.size());
                        for (auto& x : above) x += h;
                        for (auto& x : below) x -= h;
                        const Numbers high = run(above, bias), low = run(below, bias);
                        Numbers sums(number(shape.columns));
                        for (std::size_t i = 0; i < wanted.size(); ++i) {
                            wanted[i] = up[number(k)][i] * (high[i] - low[i]) / (2 * h);
                            sums[i % number(shape.columns)] += wanted[i];
                        }
                        expect_near(harness.values(c.gradient, k), wanted, 3e-6);
                        expect_near(harness.values(c.bias_gradient, k), sums, 1e-5);
                    }
                });
}

TEST(Activation, AddsToTheBiasGradientOfEarlierMicroBatches) {
    fused_and_alone([&](Harness& harness) {
        const Tensor gradient = harness.random(7, 17), sum = harness.random(1, 17);
        harness.start();
        std::vector<Numbers> before;
        for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(sum, k));
        ActivateBackward backward;
        backward.gradient = gradient;
        backward.bias_gradient = sum;
        backward.write = Write::add;
        harness.stream().enqueue(backward);
        for (int k = 0; k < harness.replicas(); ++k) {
            Numbers wanted = before[number(k)];
            const Numbers g = harness.values(gradient, k);
            for (std::size_t i = 0; i < g.size(); ++i) wanted[i % 17] += g[i];
            expect_near(harness.values(sum, k), wanted, 1e-6);
        }
    });
}

TEST(Activation, SumsTheBiasGradientOfMoreRowsThanItTakesAtOnce) {
    fused_and_alone([&](Harness& harness) {
        ActivateBackward backward;
        backward.activation = Activation::silu;
        backward.gradient = harness.random(150, 40);
        backward.pre = harness.random(150, 40, -3, 3);
        backward.bias_gradient = harness.output(1, 40);
        harness.start();
        harness.stream().enqueue(backward);
        for (int k = 0; k < harness.replicas(); ++k) {
            Numbers wanted(40);
            const Numbers g = harness.values(backward.gradient, k);
            for (std::size_t i = 0; i < g.size(); ++i) wanted[i % 40] += g[i];
            expect_near(harness.values(backward.bias_gradient, k), wanted, 1e-5);
        }
    });
}

/// GPUs divide thousands of rows into parts, whose sums are put together.
TEST(Activation, SumsTheBiasGradientOfThousandsOfRows) {
    constexpr Shape shapes[] = {{1023, 10}, {1024, 10}, {2100, 33}, {1100, 300}};
    for (const Shape& shape : shapes)
        for (const Write write : {Write::set, Write::add})
            fused_and_alone([&](Harness& harness) {
                ActivateBackward backward;
                backward.gradient = harness.floats(shape.rows, shape.columns, [](int replica, std::int64_t i) {
                    return static_cast<double>((i * 7 + replica) % 13 - 6);  // sums are exact
                });
                backward.bias_gradient = harness.floats(1, shape.columns, [](int, std::int64_t) { return 0.5; });
                backward.write = write;
                harness.start();
                harness.stream().enqueue(backward);
                for (int k = 0; k < harness.replicas(); ++k) {
                    Numbers wanted(number(shape.columns), write == Write::add ? 0.5 : 0);
                    for (std::int64_t i = 0; i < shape.rows * shape.columns; ++i)
                        wanted[number(i % shape.columns)] +=
                            static_cast<double>((i * 7 + harness.value_index_of(k)) % 13 - 6);
                    EXPECT_EQ(harness.values(backward.bias_gradient, k), wanted);
                }
            });
}

TEST(Activation, HoldsFarFromZero) {
    for (const auto activation : all)
        fused_and_alone([&](Harness& harness) {
            const Layer c(harness, {3, 65}, activation, false, 300);
            harness.start();
            std::vector<Numbers> before;
            for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(c.pre, k));
            harness.stream().enqueue(Activate{
                .activation = activation, .pre = c.pre, .bias = c.bias, .output = c.output, .dropout = c.dropout});
            harness.stream().enqueue(ActivateBackward{.activation = activation,
                                                      .gradient = c.gradient,
                                                      .pre = c.pre,
                                                      .output = c.output,
                                                      .bias_gradient = c.bias_gradient,
                                                      .dropout = c.dropout,
                                                      .write = Write::set});
            for (int k = 0; k < harness.replicas(); ++k) {
                expect_near(harness.values(c.output, k),
                            reference(activation, {3, 65}, before[number(k)], harness.values(c.bias, k), c.dropout, k),
                            1e-6);
                for (const double g : harness.values(c.gradient, k)) EXPECT_TRUE(std::isfinite(g));
            }
        });
}

TEST(Activation, LetsNaNThrough) {
    for (const auto activation : all)
        on_every_device([&](Harness& harness) {
            const Layer c(harness, {1, 33}, activation, false);
            harness.start();
            harness.stream().write(c.bias.at(20), 0, std::numeric_limits<float>::quiet_NaN());
            harness.stream().enqueue(Activate{
                .activation = activation, .pre = c.pre, .bias = c.bias, .output = c.output, .dropout = c.dropout});
            const Numbers y = harness.values(c.output, 0);
            for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 20) << i;
        });
}

TEST(Dropout, DropsTheShareAskedForAndKeepsTheMean) {
    on_every_device([&](Harness& harness) {
        const std::int64_t rows = 512, columns = 512;
        const Tensor ones = harness.output(rows, columns);
        Dropout dropout;
        dropout.probability = harness.per_replica<float>([](int) { return 0.3F; });
        dropout.seed = harness.per_replica<std::uint64_t>([](int) { return 9; });
        dropout.iteration = harness.per_replica<std::uint32_t>([](int) { return 0; });
        harness.start();
        harness.stream().enqueue(Fill{ones, 1});
        harness.stream().enqueue(
            Activate{.activation = Activation::relu, .pre = ones, .bias = {}, .output = ones, .dropout = dropout});
        double zeros = 0, sum = 0;
        for (const double y : harness.values(ones, 0)) {
            zeros += y == 0;
            sum += y;
        }
        const double count = static_cast<double>(rows * columns);
        const double deviation = std::sqrt(0.3 * 0.7 / count);
        EXPECT_NEAR(zeros / count, 0.3, 5 * deviation);
        EXPECT_NEAR(sum / count, 1, 5 * deviation / 0.7);
    });
}

TEST(Activation, IsEachReplicasOwnWhereReplicasDiffer) {
    const Activation of_replica[] = {Activation::gelu, Activation::relu, Activation::silu};
    const Shape shape{17, 33};
    fused_and_alone([&](Harness& harness) {
        const Layer c(harness, shape, Activation::gelu, true);
        const Tensor activations = harness.per_replica<std::uint32_t>(
            [&](int replica) { return static_cast<std::uint32_t>(of_replica[replica]); });
        harness.start();
        std::vector<Numbers> before, up;
        for (int k = 0; k < harness.replicas(); ++k) {
            before.push_back(harness.values(c.pre, k));
            up.push_back(harness.values(c.gradient, k));
        }
        harness.stream().enqueue(Activate{.activation = Activation::none,
                                          .pre = c.pre,
                                          .bias = c.bias,
                                          .output = c.output,
                                          .dropout = c.dropout,
                                          .activations = activations});
        harness.stream().enqueue(ActivateBackward{.activation = Activation::none,
                                                  .gradient = c.gradient,
                                                  .pre = c.pre,
                                                  .output = c.output,
                                                  .bias_gradient = c.bias_gradient,
                                                  .dropout = c.dropout,
                                                  .write = Write::set,
                                                  .activations = activations});
        for (int k = 0; k < harness.replicas(); ++k) {
            const int name = harness.value_index_of(k);
            const Numbers bias = harness.values(c.bias, k);
            const auto run = [&](const Numbers& pre) {
                return reference(of_replica[name], shape, pre, bias, c.dropout, name);
            };
            expect_near(harness.values(c.output, k), run(before[number(k)]), 1e-6);
            expect_near(
                harness.values(c.gradient, k),
                differences(before[number(k)], [&](const Numbers& pre) { return dot(run(pre), up[number(k)]); }), 1e-5);
        }
    });
}

TEST(Dropout, DrawsMicroBatchesAsTheWholeBatch) {
    fused_and_alone([&](Harness& harness) {
        const Layer c(harness, {10, 70}, Activation::relu, true);
        const Tensor whole = harness.output(10, 70), parts = harness.output(10, 70);
        harness.start();
        harness.stream().enqueue(Fill{whole, 1});
        harness.stream().enqueue(Fill{parts, 1});
        harness.stream().enqueue(
            Activate{.activation = Activation::relu, .pre = whole, .bias = {}, .output = whole, .dropout = c.dropout});
        for (const std::int64_t first : {0, 4}) {
            Dropout dropout = c.dropout;
            dropout.extent.micro_batch += static_cast<std::uint32_t>(first);
            const Tensor part = parts.slice(first * 70, first == 0 ? 4 : 6, 70);
            harness.stream().enqueue(
                Activate{.activation = Activation::relu, .pre = part, .bias = {}, .output = part, .dropout = dropout});
        }
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_EQ(harness.bytes(whole, k), harness.bytes(parts, k));
    });
}

TEST(Dropout, DrawsAnewForEachSiteIterationAndSeed) {
    on_every_device([&](Harness& harness) {
        std::vector<Tensor> outputs;
        for (int i = 0; i < 4; ++i) outputs.push_back(harness.output(8, 128));
        Dropout dropout;
        dropout.probability = harness.per_replica<float>([](int) { return 0.5F; });
        dropout.seed = harness.per_replica<std::uint64_t>([](int) { return 9; });
        dropout.iteration = harness.per_replica<std::uint32_t>([](int) { return 0; });
        const Tensor other_seed = harness.per_replica<std::uint64_t>([](int) { return 10; });
        const Tensor later = harness.per_replica<std::uint32_t>([](int) { return 1; });
        harness.start();
        Dropout draws[] = {dropout, dropout, dropout, dropout};
        draws[1].site = 1;
        draws[2].iteration = later;
        draws[3].seed = other_seed;
        for (std::size_t i = 0; i < 4; ++i) {
            harness.stream().enqueue(Fill{outputs[i], 1});
            harness.stream().enqueue(Activate{.activation = Activation::relu,
                                              .pre = outputs[i],
                                              .bias = {},
                                              .output = outputs[i],
                                              .dropout = draws[i]});
        }
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const Numbers a = harness.values(outputs[i], 0), b = harness.values(outputs[j], 0);
                double same = 0;
                for (std::size_t e = 0; e < a.size(); ++e) same += a[e] == b[e];
                EXPECT_NEAR(same / static_cast<double>(a.size()), 0.5, 0.1) << i << " and " << j;
            }
    });
}

TEST(Activation, OfAResidualBlockAddsWhatWentAroundItAndLeavesTheIncomingGradient) {
    const Shape shape{5, 261};
    for (const Activation activation : {Activation::none, Activation::gelu})
        fused_and_alone([&](Harness& harness) {
            const Layer plain(harness, shape, activation, true), skipping(harness, shape, activation, true);
            const Tensor skipped = harness.random(shape.rows, shape.columns),
                         incoming = harness.random(shape.rows, shape.columns),
                         outgoing = harness.output(shape.rows, shape.columns);
            harness.start();
            harness.stream().enqueue(Copy{plain.pre, skipping.pre});
            harness.stream().enqueue(Copy{plain.bias, skipping.bias});
            harness.stream().enqueue(Activate{.activation = activation,
                                              .pre = plain.pre,
                                              .bias = plain.bias,
                                              .output = plain.output,
                                              .dropout = plain.dropout});
            harness.stream().enqueue(Activate{.activation = activation,
                                              .pre = skipping.pre,
                                              .bias = skipping.bias,
                                              .output = skipping.output,
                                              .dropout = skipping.dropout,
                                              .activations = {},
                                              .skipped = skipped});
            std::vector<Numbers> up;
            for (int k = 0; k < harness.replicas(); ++k) up.push_back(harness.values(incoming, k));
            harness.stream().enqueue(ActivateBackward{.activation = activation,
                                                      .gradient = outgoing,
                                                      .pre = plain.pre,
                                                      .dropout = plain.dropout,
                                                      .incoming = incoming});
            harness.stream().enqueue(Copy{incoming, plain.gradient});
            harness.stream().enqueue(ActivateBackward{
                .activation = activation, .gradient = plain.gradient, .pre = plain.pre, .dropout = plain.dropout});
            for (int k = 0; k < harness.replicas(); ++k) {
                Numbers wanted = harness.values(plain.output, k);
                const Numbers around = harness.values(skipped, k);
                for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += around[i];
                expect_near(harness.values(skipping.output, k), wanted, 1e-6);
                EXPECT_EQ(harness.values(incoming, k), up[number(k)]);
                EXPECT_EQ(harness.values(outgoing, k), harness.values(plain.gradient, k));
            }
        });
}

}  // namespace
}  // namespace hpo::test
