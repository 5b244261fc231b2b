// Tokens, rotary positions, attention and gates, compared with their definitions and with finite differences.
#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

// ---- Attention ----

struct Heads {
    std::int64_t samples, steps, heads, kv_heads, width;
    bool causal;
    float scale = 0;  ///< see Attention

    [[nodiscard]] double score_scale() const { return scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(width)); }
    [[nodiscard]] std::int64_t rows() const { return samples * steps; }
    [[nodiscard]] std::int64_t columns() const { return (heads + 2 * kv_heads) * width; }
};

/// Softmax(scale * Q K^T) V with all scores in memory; `log_sums`: null or what belongs to it.
Numbers attended(const Heads& h, const Numbers& x, Numbers* log_sums = nullptr) {
    Numbers y(number(h.rows() * h.heads * h.width));
    if (log_sums) log_sums->assign(number(h.rows() * h.heads), 0);
    for (std::int64_t sample = 0; sample < h.samples; ++sample)
        for (std::int64_t head = 0; head < h.heads; ++head)
            for (std::int64_t query = 0; query < h.steps; ++query) {
                const auto at = [&](std::int64_t step, std::int64_t column) {
                    return x[number((sample * h.steps + step) * h.columns() + column)];
                };
                const std::int64_t key_column = (h.heads + head / (h.heads / h.kv_heads)) * h.width;
                const std::int64_t seen = h.causal ? query + 1 : h.steps;
                Numbers weights(number(seen));
                double sum = 0;
                for (std::int64_t key = 0; key < seen; ++key) {
                    double score = 0;
                    for (std::int64_t i = 0; i < h.width; ++i)
                        score += at(query, head * h.width + i) * at(key, key_column + i);
                    sum += weights[number(key)] = std::exp(score * h.score_scale());
                }
                const std::int64_t row = (sample * h.steps + query) * h.heads + head;
                if (log_sums) (*log_sums)[number(row)] = std::log(sum);
                for (std::int64_t key = 0; key < seen; ++key)
                    for (std::int64_t i = 0; i < h.width; ++i)
                        y[number(row * h.width + i)] +=
                            weights[number(key)] / sum * at(key, key_column + h.kv_heads * h.width + i);
            }
    return y;
}

/// The gradient of dot(attended(x), g), by the formulas of the derivative.
Numbers attended_backward(const Heads& h, const Numbers& x, const Numbers& g) {
    Numbers log_sums, dx(x.size());
    const Numbers y = attended(h, x, &log_sums);
    const double scale = h.score_scale();
    for (std::int64_t row = 0; row < h.rows() * h.heads; ++row) {
        const std::int64_t head = row % h.heads, query = row / h.heads % h.steps, sample = row / h.heads / h.steps;
        const std::int64_t key_column = (h.heads + head / (h.heads / h.kv_heads)) * h.width;
        const std::int64_t value_column = key_column + h.kv_heads * h.width;
        const auto place = [&](std::int64_t step, std::int64_t column) {
            return number((sample * h.steps + step) * h.columns() + column);
        };
        double delta = 0;
        for (std::int64_t i = 0; i < h.width; ++i) delta += y[number(row * h.width + i)] * g[number(row * h.width + i)];
        for (std::int64_t key = 0; key < (h.causal ? query + 1 : h.steps); ++key) {
            double score = 0, of_weight = 0;
            for (std::int64_t i = 0; i < h.width; ++i) {
                score += x[place(query, head * h.width + i)] * x[place(key, key_column + i)];
                of_weight += g[number(row * h.width + i)] * x[place(key, value_column + i)];
            }
            const double weight = std::exp(score * scale - log_sums[number(row)]);
            const double slope = weight * (of_weight - delta) * scale;
            for (std::int64_t i = 0; i < h.width; ++i) {
                dx[place(key, value_column + i)] += weight * g[number(row * h.width + i)];
                dx[place(query, head * h.width + i)] += slope * x[place(key, key_column + i)];
                dx[place(key, key_column + i)] += slope * x[place(query, head * h.width + i)];
            }
        }
    }
    return dx;
}

// One tile and several, not whole ones; heads that share keys and values; widths that fill no register.
const Heads attention_shapes[] = {
    {2, 5, 2, 2, 4, true},          {2, 5, 4, 2, 6, false, 0.7F}, {1, 1, 1, 1, 1, true},   {1, 17, 3, 1, 16, true},
    {1, 70, 2, 1, 20, true, 0.05F}, {1, 131, 2, 2, 8, false},     {1, 64, 1, 1, 33, true}, {1, 20, 1, 1, 128, false},
};

struct AttentionCase {
    Attention forward;
    AttentionBackward backward;

    AttentionCase(Harness& harness, const Heads& h, double size) {
        forward = {.steps = h.steps,
                   .heads = h.heads,
                   .kv_heads = h.kv_heads,
                   .causal = h.causal,
                   .scale = h.scale,
                   .projections = harness.random(h.rows(), h.columns(), -size, size),
                   .output = harness.output(h.rows(), h.heads * h.width),
                   .log_sums = harness.output(h.rows(), h.heads)};
        backward.gradient = harness.random(h.rows(), h.heads * h.width);
        backward.deltas = harness.output(h.rows(), h.heads);
        backward.of_projections = harness.output(h.rows(), h.columns());
        backward.forward = forward;
        harness.start();
        harness.stream().enqueue(forward);
        harness.stream().enqueue(backward);
    }
};

TEST(Attention, TheGradientByFormulasIsThatOfFiniteDifferences) {
    for (const Heads& h : {attention_shapes[0], attention_shapes[1]}) {
        Numbers x(number(h.rows() * h.columns())), g(number(h.rows() * h.heads * h.width));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = draw_unit(3, Purpose::synthetic, 1, i) * 4 - 2;
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = draw_unit(3, Purpose::synthetic, 2, i) * 2 - 1;
        expect_near(attended_backward(h, x, g),
                    differences(x, [&](const Numbers& v) { return dot(attended(h, v), g); }), 1e-6);
    }
}

TEST(Attention, InTilesAgreesWithItsDefinitionAndItsGradient) {
    for (const Heads& h : attention_shapes)
        fused_and_alone([&](Harness& harness) {
            SCOPED_TRACE(std::to_string(h.steps) + " steps, width " + std::to_string(h.width));
            const AttentionCase it(harness, h, 2);
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(it.forward.projections, k);
                Numbers log_sums;
                expect_near(harness.values(it.forward.output, k), attended(h, x, &log_sums), 1e-5);
                expect_near(harness.values(it.forward.log_sums, k), log_sums, 1e-5);
                expect_near(harness.values(it.backward.of_projections, k),
                            attended_backward(h, x, harness.values(it.backward.gradient, k)), 3e-5);
            }
        });
}

TEST(Attention, ScoresOfHundredsNeitherOverflowNorVanish) {
    const Heads h{1, 80, 2, 1, 32, true};
    on_every_device([&](Harness& harness) {
        const AttentionCase it(harness, h, 20);
        const Numbers x = harness.values(it.forward.projections, 0);
        expect_near(harness.values(it.forward.output, 0), attended(h, x), 2e-3);
        expect_near(harness.values(it.backward.of_projections, 0),
                    attended_backward(h, x, harness.values(it.backward.gradient, 0)), 2e-2);
    });
}

TEST(Attention, ACausalStepDoesNotDependOnLaterOnes) {
    const Heads h{1, 70, 1, 1, 8, true};
    on_every_device([&](Harness& harness) {
        const AttentionCase it(harness, h, 2);
        const Numbers before = harness.values(it.forward.output, 0);
        std::vector<float> changed;
        for (const double x : harness.values(it.forward.projections, 0)) changed.push_back(static_cast<float>(x));
        for (std::size_t i = 50 * 24; i < changed.size(); ++i) changed[i] = 1e6F;
        harness.stream().write(it.forward.projections, 0, std::span<const float>(changed));
        harness.stream().enqueue(it.forward);
        const Numbers after = harness.values(it.forward.output, 0);
        for (std::size_t i = 0; i < 50 * 8; ++i) ASSERT_EQ(after[i], before[i]) << i;
        EXPECT_NE(after[50 * 8], before[50 * 8]);
    });
}

// ---- Tokens ----

TEST(Embed, CopiesTheRowsOfATableAndSumsTheirGradients) {
    constexpr std::int64_t vocabulary = 7, samples = 3, steps = 11;
    for (const std::int64_t width : {1, 17, 300})
        fused_and_alone([&](Harness& harness) {
            const Tensor tokens = harness.integers<float>(samples, steps, [](int replica, std::int64_t i) {
                return static_cast<float>((i * i + replica) % 5);  // some tokens are nowhere
            });
            const Tensor table = harness.random(vocabulary, width), output = harness.output(samples * steps, width);
            const Tensor up = harness.random(samples * steps, width), set = harness.output(vocabulary, width),
                         add = harness.random(vocabulary, width);
            harness.start();
            std::vector<Numbers> before;
            for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(add, k));
            harness.stream().enqueue(Embed{tokens, table, output});
            harness.stream().enqueue(EmbedBackward{tokens, up, set, Write::set});
            harness.stream().enqueue(EmbedBackward{tokens, up, add, Write::add});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers ids = harness.values(tokens, k), t = harness.values(table, k), g = harness.values(up, k);
                Numbers rows(g.size()), sums(t.size());
                for (std::size_t i = 0; i < g.size(); ++i) {
                    const std::size_t at =
                        static_cast<std::size_t>(ids[i / number(width)]) * number(width) + i % number(width);
                    rows[i] = t[at];
                    sums[at] += g[i];
                }
                EXPECT_EQ(harness.values(output, k), rows);
                expect_near(harness.values(set, k), sums, 1e-5);
                for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[number(k)][i];
                expect_near(harness.values(add, k), sums, 1e-5);
            }
        });
}

// ---- Rotary positions ----

TEST(Rotate, TurnsEachPairByItsStepAndBack) {
    constexpr std::int64_t samples = 2, steps = 9, heads = 3;
    for (const std::int64_t width : {2, 8, 40})
        fused_and_alone([&](Harness& harness) {
            const std::int64_t columns = heads * width + 5;
            const Tensor values = harness.random(samples * steps, columns),
                         twice = harness.output(samples * steps, columns);
            harness.start();
            std::vector<Numbers> before;
            for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(values, k));
            harness.stream().enqueue(Rotate{.steps = steps, .heads = heads, .width = width, .values = values});
            harness.stream().enqueue(Copy{values, twice});
            harness.stream().enqueue(
                Rotate{.steps = steps, .heads = heads, .width = width, .values = twice, .back = true});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers& x = before[number(k)];
                Numbers turned = x;
                for (std::int64_t row = 0; row < samples * steps; ++row)
                    for (std::int64_t head = 0; head < heads; ++head)
                        for (std::int64_t i = 0; i < width / 2; ++i) {
                            const double angle =
                                static_cast<double>(row % steps) *
                                std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(width));
                            const std::size_t at = number(row * columns + head * width + i),
                                              other = at + number(width / 2);
                            turned[at] = x[at] * std::cos(angle) - x[other] * std::sin(angle);
                            turned[other] = x[at] * std::sin(angle) + x[other] * std::cos(angle);
                        }
                expect_near(harness.values(values, k), turned, 5e-6);
                expect_near(harness.values(twice, k), x, 5e-6);
            }
        });
}

// ---- Gates ----

TEST(Gate, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const Shape& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Tensor input = harness.random(shape.rows, 2 * shape.columns, -4, 4),
                         output = harness.output(shape.rows, shape.columns);
            const Tensor up = harness.random(shape.rows, shape.columns),
                         down = harness.output(shape.rows, 2 * shape.columns);
            harness.start();
            harness.stream().enqueue(Gate{input, output});
            harness.stream().enqueue(GateBackward{input, up, down});
            const auto gated = [&](const Numbers& x) {
                Numbers y(number(shape.rows * shape.columns));
                for (std::size_t i = 0; i < y.size(); ++i) {
                    const std::size_t at =
                        i / number(shape.columns) * number(2 * shape.columns) + i % number(shape.columns);
                    y[i] = x[at] / (1 + std::exp(-x[at])) * x[at + number(shape.columns)];
                }
                return y;
            };
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers x = harness.values(input, k), g = harness.values(up, k);
                expect_near(harness.values(output, k), gated(x), 1e-5);
                expect_near(harness.values(down, k), differences(x, [&](const Numbers& v) { return dot(gated(v), g); }),
                            1e-5);
            }
        });
}

}  // namespace
}  // namespace hpo::test
