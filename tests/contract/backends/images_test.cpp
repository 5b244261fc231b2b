// Patches, group normalisation and means over pixels, compared with their definitions and with finite differences.
#include <array>

#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

struct Images {
    std::int64_t count;
    Patches patches;
};
const Images images[] = {
    {2, {.height = 5, .width = 4, .channels = 3, .kernel = 3, .stride = 1}},
    {3, {.height = 7, .width = 5, .channels = 2, .kernel = 3, .stride = 2}},
    {2, {.height = 6, .width = 6, .channels = 17, .kernel = 3, .stride = 2}},
    {2, {.height = 5, .width = 6, .channels = 5, .kernel = 1, .stride = 2}},
    {1, {.height = 1, .width = 1, .channels = 4, .kernel = 3, .stride = 1}},
    {2, {.height = 8, .width = 9, .channels = 1, .kernel = 5, .stride = 3}},
};

/// Returns the index in the image of element `element` of patch `patch`, or -1 if it lies outside of the image.
std::int64_t source_of(const Patches& p, std::int64_t patch, std::int64_t element) {
    const std::int64_t channel = element % p.channels, column = element / p.channels % p.kernel,
                       row = element / p.channels / p.kernel;
    const std::int64_t out_x = patch % p.out_width(), out_y = patch / p.out_width() % p.out_height(),
                       image = patch / p.out_pixels();
    const std::int64_t y = out_y * p.stride + row - p.kernel / 2, x = out_x * p.stride + column - p.kernel / 2;
    if (y < 0 || y >= p.height || x < 0 || x >= p.width) return -1;
    return ((image * p.height + y) * p.width + x) * p.channels + channel;
}

TEST(Patches, AStrideOfTwoHalvesTheImageRoundedUp) {
    const Patches p{.height = 7, .width = 28, .channels = 3, .kernel = 3, .stride = 2};
    EXPECT_EQ(p.out_height(), 4);
    EXPECT_EQ(p.out_width(), 14);
    EXPECT_EQ(p.elements(), 27);
}

TEST(Patches, UnfoldCopiesAndFoldSumsWhatWasCopied) {
    for (const auto& [count, patches] : images)
        fused_and_alone([&, count = count, patches = patches](Harness& harness) {
            const std::int64_t rows = count * patches.out_pixels();
            const Tensor input = harness.random(count * patches.in_pixels(), patches.channels);
            const Tensor unfolded = harness.output(rows, patches.elements());
            const Tensor gradient = harness.random(rows, patches.elements());
            const Tensor folded = harness.output(count * patches.in_pixels(), patches.channels);
            harness.start();
            harness.stream().enqueue(Unfold{patches, input, unfolded});
            harness.stream().enqueue(Fold{patches, gradient, folded});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(input, k), g = harness.values(gradient, k);
                Numbers copied(number(rows * patches.elements())), summed(x.size());
                for (std::int64_t patch = 0; patch < rows; ++patch)
                    for (std::int64_t element = 0; element < patches.elements(); ++element) {
                        const std::int64_t from = source_of(patches, patch, element);
                        const auto at = number(patch * patches.elements() + element);
                        if (from < 0) continue;
                        copied[at] = x[number(from)];
                        summed[number(from)] += g[at];
                    }
                EXPECT_EQ(harness.values(unfolded, k), copied);
                expect_near(harness.values(folded, k), summed, 1e-6);
            }
        });
}

/// Weights of three outputs make blocks with padding, and 35 more than one block on every level of the CPU.
TEST(Convolution, IsTheProductOfThePatchesAndTheWeights) {
    for (const auto& [count, patches] : images)
        for (const std::int64_t outputs : {3, 35})
            fused_and_alone([&, count = count, patches = patches](Harness& harness) {
                const std::int64_t rows = count * patches.out_pixels(), pixels = count * patches.in_pixels();
                const Tensor input = harness.random(pixels, patches.channels);
                const Tensor weight = harness.random(outputs, patches.elements());
                const Tensor gradient = harness.random(rows, outputs);
                const Tensor sums = harness.random(outputs, patches.elements());
                const Tensor output = harness.output(rows, outputs);
                const Tensor of_weight = harness.output(outputs, patches.elements());
                const Tensor of_weight_alone = harness.output(outputs, patches.elements());
                const Tensor of_input = harness.output(pixels, patches.channels);
                const Tensor workspace = harness.output(1, convolution_workspace(patches, outputs));
                harness.start();
                Stream& stream = harness.stream();
                if (!stream.convolves()) return;
                stream.enqueue(Convolve{
                    .patches = patches, .input = input, .weight = weight, .output = output, .workspace = workspace});
                ConvolveBackward backward{.patches = patches,
                                          .output_gradient = gradient,
                                          .input = input,
                                          .weight = weight,
                                          .weight_gradient = of_weight,
                                          .input_gradient = of_input,
                                          .workspace = workspace};
                stream.enqueue(backward);
                backward.weight_gradient = of_weight_alone;
                backward.input_gradient = {};
                stream.enqueue(backward);
                backward.weight_gradient = sums;
                backward.write = Write::add;
                for (int k = 0; k < harness.replicas(); ++k) {
                    const Numbers x = harness.values(input, k), w = harness.values(weight, k);
                    const Numbers g = harness.values(gradient, k), before = harness.values(sums, k);
                    Numbers y(g.size()), dx(x.size()), dw(w.size()), added = before;
                    for (std::int64_t patch = 0; patch < rows; ++patch)
                        for (std::int64_t element = 0; element < patches.elements(); ++element) {
                            const std::int64_t from = source_of(patches, patch, element);
                            if (from < 0) continue;
                            for (std::int64_t o = 0; o < outputs; ++o) {
                                const auto at = number(patch * outputs + o),
                                           to = number(o * patches.elements() + element);
                                y[at] += x[number(from)] * w[to];
                                dw[to] += x[number(from)] * g[at];
                                dx[number(from)] += w[to] * g[at];
                            }
                        }
                    for (std::size_t i = 0; i < dw.size(); ++i) added[i] += dw[i];
                    expect_near(harness.values(output, k), y, 1e-5);
                    expect_near(harness.values(of_weight, k), dw, 1e-5);
                    EXPECT_EQ(harness.values(of_weight, k), harness.values(of_weight_alone, k));
                    expect_near(harness.values(of_input, k), dx, 1e-5);
                    stream.select_replicas(k, 1);
                    stream.enqueue(backward);
                    expect_near(harness.values(sums, k), added, 1e-5);
                }
                stream.select_replicas(0, harness.replicas());
            });
}

struct Grouped {
    std::int64_t samples, pixels, channels, groups;
};
constexpr Grouped grouped[] = {{2, 3, 4, 2}, {3, 1, 6, 2}, {2, 7, 33, 3}, {1, 5, 40, 40}, {1, 2, 300, 1}, {2, 9, 8, 8}};

Numbers normalised(const Grouped& s, const Numbers& input, const Numbers& scale, const Numbers& shift) {
    Numbers y(input.size());
    const std::int64_t in_group = s.channels / s.groups;
    const auto count = static_cast<double>(s.pixels * in_group);
    for (std::int64_t sample = 0; sample < s.samples; ++sample)
        for (std::int64_t group = 0; group < s.groups; ++group) {
            const auto each = [&](auto&& visit) {
                for (std::int64_t p = 0; p < s.pixels; ++p)
                    for (std::int64_t c = group * in_group; c < (group + 1) * in_group; ++c)
                        visit(number((sample * s.pixels + p) * s.channels + c), number(c));
            };
            double mean = 0, variance = 0;
            each([&](std::size_t i, std::size_t) { mean += input[i] / count; });
            each([&](std::size_t i, std::size_t) { variance += (input[i] - mean) * (input[i] - mean) / count; });
            each([&](std::size_t i, std::size_t c) {
                y[i] = (input[i] - mean) / std::sqrt(variance + 1e-5) * scale[c] + shift[c];
            });
        }
    return y;
}

TEST(GroupNorm, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const Grouped& shape : grouped)
        fused_and_alone([&](Harness& harness) {
            const std::int64_t rows = shape.samples * shape.pixels;
            const Tensor input = harness.random(rows, shape.channels, -2, 3);
            const Tensor scale = harness.random(1, shape.channels, 0.5, 2), shift = harness.random(1, shape.channels);
            const Tensor output = harness.output(rows, shape.channels);
            const Tensor mean = harness.output(shape.samples, shape.groups),
                         rstd = harness.output(shape.samples, shape.groups);
            const Tensor gradient = harness.random(rows, shape.channels);
            const Tensor scale_gradient = harness.output(1, shape.channels),
                         shift_gradient = harness.random(1, shape.channels);
            const Tensor sums =
                harness.integers<float>(shape.samples, 2 * shape.channels, [](int, std::int64_t) { return 0.0F; });
            harness.start();
            std::vector<Numbers> up;
            for (int k = 0; k < harness.replicas(); ++k) up.push_back(harness.values(gradient, k));
            harness.stream().enqueue(GroupNorm{.pixels = shape.pixels,
                                               .groups = shape.groups,
                                               .input = input,
                                               .scale = scale,
                                               .shift = shift,
                                               .output = output,
                                               .mean = mean,
                                               .rstd = rstd});
            harness.stream().enqueue(GroupNormBackward{.pixels = shape.pixels,
                                                       .groups = shape.groups,
                                                       .gradient = gradient,
                                                       .input = input,
                                                       .mean = mean,
                                                       .rstd = rstd,
                                                       .scale = scale,
                                                       .scale_gradient = scale_gradient,
                                                       .shift_gradient = shift_gradient,
                                                       .sums = sums});
            // A group of one number has a deviation of 0, which magnifies rounding errors.
            const double tolerance = shape.pixels * shape.channels / shape.groups < 4 ? 2e-2 : 5e-5;
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(input, k), s = harness.values(scale, k), t = harness.values(shift, k);
                const Numbers& g = up[number(k)];
                expect_near(harness.values(output, k), normalised(shape, x, s, t), tolerance);
                const auto slope = [&](const Numbers& at, auto&& run) {
                    return differences(at, [&](const Numbers& v) { return dot(run(v), g); });
                };
                expect_near(harness.values(gradient, k),
                            slope(x, [&](const Numbers& v) { return normalised(shape, v, s, t); }), tolerance);
                expect_near(harness.values(scale_gradient, k),
                            slope(s, [&](const Numbers& v) { return normalised(shape, x, v, t); }), tolerance);
                expect_near(harness.values(shift_gradient, k),
                            slope(t, [&](const Numbers& v) { return normalised(shape, x, s, v); }), tolerance);
            }
        });
}

TEST(GroupNorm, AddsToTheGradientsOfEarlierMicroBatches) {
    fused_and_alone([&](Harness& harness) {
        const Tensor input = harness.random(6, 8), scale = harness.random(1, 8), mean = harness.random(2, 2),
                     rstd = harness.random(2, 2, 0.5, 2);
        const Tensor g1 = harness.random(6, 8), g2 = harness.output(6, 8);
        const Tensor sums = harness.integers<float>(2, 16, [](int, std::int64_t) { return 0.0F; });
        std::vector<Tensor> set, add;
        for (int i = 0; i < 2; ++i) set.push_back(harness.output(1, 8));
        for (int i = 0; i < 2; ++i) add.push_back(harness.output(1, 8));
        harness.start();
        harness.stream().enqueue(Copy{g1, g2});
        for (const auto& tensor : add) harness.stream().enqueue(Fill{tensor, 1});
        harness.stream().enqueue(GroupNormBackward{.pixels = 3,
                                                   .groups = 2,
                                                   .gradient = g1,
                                                   .input = input,
                                                   .mean = mean,
                                                   .rstd = rstd,
                                                   .scale = scale,
                                                   .scale_gradient = set[0],
                                                   .shift_gradient = set[1],
                                                   .sums = sums,
                                                   .write = Write::set});
        harness.stream().enqueue(GroupNormBackward{.pixels = 3,
                                                   .groups = 2,
                                                   .gradient = g2,
                                                   .input = input,
                                                   .mean = mean,
                                                   .rstd = rstd,
                                                   .scale = scale,
                                                   .scale_gradient = add[0],
                                                   .shift_gradient = add[1],
                                                   .sums = sums,
                                                   .write = Write::add});
        for (int k = 0; k < harness.replicas(); ++k)
            for (std::size_t i = 0; i < 2; ++i) {
                Numbers wanted = harness.values(set[i], k);
                for (auto& x : wanted) x += 1;
                expect_near(harness.values(add[i], k), wanted, 1e-6);
            }
    });
}

TEST(MeanPixels, AveragesEachSampleAndSpreadsItsGradient) {
    for (const auto& [samples, pixels, channels, groups] : grouped)
        fused_and_alone([&, samples = samples, pixels = pixels, channels = channels](Harness& harness) {
            const Tensor input = harness.random(samples * pixels, channels), output = harness.output(samples, channels);
            const Tensor up = harness.random(samples, channels), down = harness.output(samples * pixels, channels);
            harness.start();
            harness.stream().enqueue(MeanPixels{input, output});
            harness.stream().enqueue(MeanPixelsBackward{up, down});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(input, k), g = harness.values(up, k);
                Numbers means(g.size()), spread(x.size());
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const std::size_t at = i / number(pixels * channels) * number(channels) + i % number(channels);
                    means[at] += x[i] / static_cast<double>(pixels);
                    spread[i] = g[at] / static_cast<double>(pixels);
                }
                expect_near(harness.values(output, k), means, 1e-6);
                expect_near(harness.values(down, k), spread, 1e-6);
            }
        });
}

TEST(MaxPixels, TakesTheMaximumOfEachWindowAndSendsTheGradientThere) {
    for (const auto& [height, width, channels] :
         std::vector<std::array<std::int64_t, 3>>{{4, 6, 3}, {5, 4, 17}, {3, 7, 1}, {1, 1, 2}, {1, 5, 33}})
        fused_and_alone([&, height = height, width = width, channels = channels](Harness& harness) {
            constexpr std::int64_t images = 2;
            const std::int64_t out_height = (height + 1) / 2, out_width = (width + 1) / 2;
            // An input of few values, so that windows have equal ones.
            const Tensor input =
                harness.integers<float>(images * height * width, channels, [](int replica, std::int64_t i) {
                    const auto at = static_cast<std::uint64_t>(i);
                    return std::floor(static_cast<float>(
                        draw_unit(9, Purpose::synthetic, static_cast<std::uint64_t>(replica), at) * 4 - 2));
                });
            const Tensor output = harness.output(images * out_height * out_width, channels);
            const Tensor up = harness.random(images * out_height * out_width, channels);
            const Tensor back = harness.output(images * height * width, channels);
            harness.start();
            const MaxPixels forward{.height = height, .width = width, .input = input, .output = output};
            harness.stream().enqueue(forward);
            harness.stream().enqueue(MaxPixelsBackward{forward, up, back});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(input, k), g = harness.values(up, k);
                Numbers greatest(g.size()), gradient(x.size());
                for (std::size_t i = 0; i < g.size(); ++i) {
                    const auto pixel = static_cast<std::int64_t>(i) / channels;
                    const std::int64_t image = pixel / out_width / out_height, y = pixel / out_width % out_height * 2,
                                       left = pixel % out_width * 2;
                    std::size_t winner = 0;
                    bool any = false;
                    for (std::int64_t down = y; down < std::min(y + 2, height); ++down)
                        for (std::int64_t right = left; right < std::min(left + 2, width); ++right) {
                            const std::size_t at =
                                number(((image * height + down) * width + right) * channels) + i % number(channels);
                            if (!any || x[at] > x[winner]) winner = at;
                            any = true;
                        }
                    greatest[i] = x[winner];
                    gradient[winner] = g[i];
                }
                EXPECT_EQ(harness.values(output, k), greatest);
                EXPECT_EQ(harness.values(back, k), gradient);
            }
        });
}

TEST(Add, AddsEachElement) {
    for (const auto& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Tensor from = harness.random(shape.rows, shape.columns),
                         to = harness.random(shape.rows, shape.columns);
            harness.start();
            std::vector<Numbers> before;
            for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(to, k));
            harness.stream().enqueue(Add{from, to});
            for (int k = 0; k < harness.replicas(); ++k) {
                Numbers wanted = harness.values(from, k);
                for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += before[number(k)][i];
                expect_near(harness.values(to, k), wanted, 1e-6);
            }
        });
}

}  // namespace
}  // namespace hpo::test
