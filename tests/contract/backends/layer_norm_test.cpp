#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

constexpr double epsilon = 1e-5;

Numbers reference(const Shape& shape, const Numbers& input, const Numbers& bias, const Numbers& scale,
                  const Numbers& shift) {
    Numbers y(input.size());
    const auto columns = number(shape.columns);
    for (std::size_t row = 0; row < number(shape.rows); ++row) {
        Numbers a(columns);
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < columns; ++i) mean += a[i] = input[row * columns + i] + bias[i];
        mean /= static_cast<double>(columns);
        for (const double x : a) variance += (x - mean) * (x - mean);
        variance /= static_cast<double>(columns);
        for (std::size_t i = 0; i < columns; ++i)
            y[row * columns + i] = (a[i] - mean) / std::sqrt(variance + epsilon) * scale[i] + shift[i];
    }
    return y;
}

/// The variance of a row of one or very few numbers may be close to 0, and 1 / deviation magnifies rounding errors.
double tolerance(const Shape& shape) { return shape.columns < 4 ? 2e-2 : 2e-5; }

TEST(LayerNorm, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const auto& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Tensor input = harness.random(shape.rows, shape.columns, -2, 2),
                         bias = harness.random(1, shape.columns);
            const Tensor scale = harness.random(1, shape.columns, 0.5, 2), shift = harness.random(1, shape.columns);
            const Tensor output = harness.output(shape.rows, shape.columns);
            const Tensor mean = harness.output(shape.rows, 1), rstd = harness.output(shape.rows, 1);
            const Tensor gradient = harness.random(shape.rows, shape.columns);
            const Tensor scale_gradient = harness.output(1, shape.columns),
                         shift_gradient = harness.output(1, shape.columns);
            const Tensor bias_gradient = harness.random(1, shape.columns);
            harness.start();
            std::vector<Numbers> before, up, earlier;
            for (int k = 0; k < harness.replicas(); ++k) {
                before.push_back(harness.values(input, k));
                up.push_back(harness.values(gradient, k));
            }
            harness.stream().enqueue(LayerNorm{.input = input,
                                               .bias = bias,
                                               .scale = scale,
                                               .shift = shift,
                                               .output = output,
                                               .mean = mean,
                                               .rstd = rstd,
                                               .epsilon = static_cast<float>(epsilon)});
            harness.stream().enqueue(LayerNormBackward{.gradient = gradient,
                                                       .input = input,
                                                       .mean = mean,
                                                       .rstd = rstd,
                                                       .scale = scale,
                                                       .scale_gradient = scale_gradient,
                                                       .shift_gradient = shift_gradient,
                                                       .bias_gradient = bias_gradient,
                                                       .write = Write::set});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = before[number(k)], b = harness.values(bias, k), s = harness.values(scale, k),
                              t = harness.values(shift, k), g = up[number(k)];
                expect_near(harness.values(output, k), reference(shape, x, b, s, t), tolerance(shape));
                const auto slope = [&](const Numbers& at, auto&& loss_inputs) {
                    return differences(at, [&](const Numbers& v) { return dot(loss_inputs(v), g); });
                };
                expect_near(harness.values(gradient, k),
                            slope(x, [&](const Numbers& v) { return reference(shape, v, b, s, t); }), tolerance(shape));
                expect_near(harness.values(bias_gradient, k),
                            slope(b, [&](const Numbers& v) { return reference(shape, x, v, s, t); }), tolerance(shape));
                expect_near(harness.values(scale_gradient, k),
                            slope(s, [&](const Numbers& v) { return reference(shape, x, b, v, t); }), tolerance(shape));
                expect_near(harness.values(shift_gradient, k),
                            slope(t, [&](const Numbers& v) { return reference(shape, x, b, s, v); }), tolerance(shape));
            }
        });
}

TEST(LayerNorm, LeavesPaddingOutOfMeansAndSetsItToNought) {
    constexpr std::int64_t rows = 5, columns = 70, valid_of[] = {33, 70, 1};
    fused_and_alone([&](Harness& harness) {
        // Random values, and 0 beyond a replica's columns.
        const auto padded = [&](std::int64_t tall, double low, double high) {
            return harness.integers<float>(tall, columns, [=](int replica, std::int64_t i) {
                const double unit = draw_unit(3, Purpose::synthetic, static_cast<std::uint64_t>(replica),
                                              static_cast<std::uint64_t>(i * tall));
                return i % columns < valid_of[replica] ? static_cast<float>(low + (high - low) * unit) : 0.0F;
            });
        };
        const Tensor input = padded(rows, -2, 2), bias = padded(1, -1, 1), scale = padded(1, 0.5, 2),
                     shift = padded(1, -1, 1), gradient = padded(rows, -1, 1);
        const Tensor output = harness.output(rows, columns), mean = harness.output(rows, 1),
                     rstd = harness.output(rows, 1);
        std::vector<Tensor> of_parameters;
        for (int i = 0; i < 3; ++i) of_parameters.push_back(harness.output(1, columns));
        const Tensor valid = harness.per_replica<std::uint32_t>(
            [&](int replica) { return static_cast<std::uint32_t>(valid_of[replica]); });
        harness.start();
        const auto unpadded = [&](const Tensor& tensor, int k) {
            const Numbers all = harness.values(tensor, k);
            Numbers kept;
            for (std::size_t i = 0; i < all.size(); ++i) {
                const bool is_valid = static_cast<std::int64_t>(i) % columns < valid_of[harness.value_index_of(k)];
                if (is_valid) kept.push_back(all[i]);
                EXPECT_TRUE(is_valid || all[i] == 0) << i;
            }
            return kept;
        };
        std::vector<Numbers> before, up;
        for (int k = 0; k < harness.replicas(); ++k) {
            before.push_back(unpadded(input, k));
            up.push_back(unpadded(gradient, k));
        }
        harness.stream().enqueue(LayerNorm{.input = input,
                                           .bias = bias,
                                           .scale = scale,
                                           .shift = shift,
                                           .output = output,
                                           .mean = mean,
                                           .rstd = rstd,
                                           .epsilon = static_cast<float>(epsilon),
                                           .extent = {.columns = valid}});
        harness.stream().enqueue(LayerNormBackward{.gradient = gradient,
                                                   .input = input,
                                                   .mean = mean,
                                                   .rstd = rstd,
                                                   .scale = scale,
                                                   .scale_gradient = of_parameters[0],
                                                   .shift_gradient = of_parameters[1],
                                                   .bias_gradient = of_parameters[2],
                                                   .write = Write::set,
                                                   .extent = {.columns = valid}});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Shape shape{rows, valid_of[harness.value_index_of(k)]};
            const Numbers b = unpadded(bias, k), s = unpadded(scale, k), t = unpadded(shift, k);
            const auto run = [&](const Numbers& x) { return reference(shape, x, b, s, t); };
            expect_near(unpadded(output, k), run(before[number(k)]), tolerance(shape));
            expect_near(unpadded(gradient, k),
                        differences(before[number(k)], [&](const Numbers& x) { return dot(run(x), up[number(k)]); }),
                        tolerance(shape));
            for (const Tensor& parameter : of_parameters) unpadded(parameter, k);
        }
    });
}

TEST(LayerNorm, AddsToTheGradientsOfEarlierMicroBatches) {
    fused_and_alone([&](Harness& harness) {
        const Tensor input = harness.random(3, 17), scale = harness.random(1, 17), mean = harness.random(3, 1),
                     rstd = harness.random(3, 1, 0.5, 2);
        const Tensor g1 = harness.random(3, 17), g2 = harness.output(3, 17);
        std::vector<Tensor> set, add;
        for (int i = 0; i < 3; ++i) set.push_back(harness.output(1, 17));
        for (int i = 0; i < 3; ++i) add.push_back(harness.output(1, 17));
        harness.start();
        harness.stream().enqueue(Copy{g1, g2});
        for (const auto& tensor : add) harness.stream().enqueue(Fill{tensor, 1});
        harness.stream().enqueue(LayerNormBackward{.gradient = g1,
                                                   .input = input,
                                                   .mean = mean,
                                                   .rstd = rstd,
                                                   .scale = scale,
                                                   .scale_gradient = set[0],
                                                   .shift_gradient = set[1],
                                                   .bias_gradient = set[2],
                                                   .write = Write::set});
        harness.stream().enqueue(LayerNormBackward{.gradient = g2,
                                                   .input = input,
                                                   .mean = mean,
                                                   .rstd = rstd,
                                                   .scale = scale,
                                                   .scale_gradient = add[0],
                                                   .shift_gradient = add[1],
                                                   .bias_gradient = add[2],
                                                   .write = Write::add});
        for (int k = 0; k < harness.replicas(); ++k)
            for (std::size_t i = 0; i < 3; ++i) {
                Numbers wanted = harness.values(set[i], k);
                for (auto& x : wanted) x += 1;
                expect_near(harness.values(add[i], k), wanted, 1e-6);
            }
    });
}

/// GPUs divide thousands of rows into parts, whose sums are put together.
TEST(LayerNorm, SumsTheGradientsOfThousandsOfRows) {
    for (const Shape& shape : {Shape{1024, 10}, Shape{1300, 33}})
        for (const auto& [shifts, write] :
             {std::pair(true, Write::set), std::pair(true, Write::add), std::pair(false, Write::add)})
            fused_and_alone([&, shifts = shifts, write = write](Harness& harness) {
                const Tensor input = harness.random(shape.rows, shape.columns),
                             scale = harness.random(1, shape.columns), mean = harness.random(shape.rows, 1),
                             rstd = harness.random(shape.rows, 1, 0.5, 2);
                const Tensor g = harness.random(shape.rows, shape.columns);
                const Tensor of_scale = harness.random(1, shape.columns), of_shift = harness.random(1, shape.columns);
                harness.start();
                std::vector<Numbers> scales, shifted;
                const auto columns = number(shape.columns);
                for (int k = 0; k < harness.replicas(); ++k) {
                    const bool adds = write == Write::add;
                    scales.push_back(adds ? harness.values(of_scale, k) : Numbers(columns));
                    shifted.push_back(adds || !shifts ? harness.values(of_shift, k) : Numbers(columns));
                    const Numbers x = harness.values(input, k), up = harness.values(g, k), m = harness.values(mean, k),
                                  r = harness.values(rstd, k);
                    for (std::size_t i = 0; i < x.size(); ++i) {
                        scales.back()[i % columns] += up[i] * (x[i] - m[i / columns]) * r[i / columns];
                        if (shifts) shifted.back()[i % columns] += up[i];
                    }
                }
                harness.stream().enqueue(LayerNormBackward{.gradient = g,
                                                           .input = input,
                                                           .mean = mean,
                                                           .rstd = rstd,
                                                           .scale = scale,
                                                           .scale_gradient = of_scale,
                                                           .shift_gradient = shifts ? of_shift : Tensor{},
                                                           .write = write});
                for (int k = 0; k < harness.replicas(); ++k) {
                    expect_near(harness.values(of_scale, k), scales[number(k)], 1e-4);
                    expect_near(harness.values(of_shift, k), shifted[number(k)], 1e-4);
                }
            });
}

TEST(LayerNorm, RmsNormTakesNoMeanAndNeedsNoShift) {
    for (const auto& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Tensor input = harness.random(shape.rows, shape.columns, 0.5, 2),
                         scale = harness.random(1, shape.columns, 0.5, 2);
            const Tensor output = harness.output(shape.rows, shape.columns);
            const Tensor mean = harness.output(shape.rows, 1), rstd = harness.output(shape.rows, 1);
            const Tensor gradient = harness.random(shape.rows, shape.columns),
                         scale_gradient = harness.output(1, shape.columns),
                         skipped = harness.random(shape.rows, shape.columns);
            harness.start();
            std::vector<Numbers> up, before;
            for (int k = 0; k < harness.replicas(); ++k) {
                up.push_back(harness.values(gradient, k));
                before.push_back(harness.values(skipped, k));
            }
            harness.stream().enqueue(LayerNorm{.input = input,
                                               .scale = scale,
                                               .output = output,
                                               .mean = mean,
                                               .rstd = rstd,
                                               .epsilon = static_cast<float>(epsilon),
                                               .centred = false});
            harness.stream().enqueue(LayerNormBackward{.gradient = gradient,
                                                       .input = input,
                                                       .mean = mean,
                                                       .rstd = rstd,
                                                       .scale = scale,
                                                       .scale_gradient = scale_gradient,
                                                       .centred = false,
                                                       .skipped_gradient = skipped});
            const auto normed = [&](const Numbers& x, const Numbers& s) {
                Numbers y(x.size());
                const auto columns = number(shape.columns);
                for (std::size_t row = 0; row < number(shape.rows); ++row) {
                    double squares = 0;
                    for (std::size_t i = 0; i < columns; ++i) squares += x[row * columns + i] * x[row * columns + i];
                    for (std::size_t i = 0; i < columns; ++i)
                        y[row * columns + i] =
                            x[row * columns + i] * s[i] / std::sqrt(squares / static_cast<double>(columns) + epsilon);
                }
                return y;
            };
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(input, k), s = harness.values(scale, k), g = up[number(k)];
                expect_near(harness.values(output, k), normed(x, s), 2e-5);
                Numbers sums = differences(x, [&](const Numbers& v) { return dot(normed(v, s), g); });
                for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[number(k)][i];
                expect_near(harness.values(skipped, k), sums, 2e-5);
                expect_near(harness.values(scale_gradient, k),
                            differences(s, [&](const Numbers& v) { return dot(normed(x, v), g); }), 2e-5);
            }
        });
}

}  // namespace
}  // namespace hpo::test
