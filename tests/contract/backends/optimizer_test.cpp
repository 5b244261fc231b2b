#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

constexpr std::int64_t count = 167;
constexpr std::int64_t decayed = 65;

double rate_of(int replica) { return 0.01 * (replica + 1); }
double decay_of(int replica) { return 0.1 * replica; }
double factor_of(int replica) { return replica == 2 ? 0.5 : 1.0; }

struct Weights {
    Update update;
    Tensor first, second, alive, iteration;

    explicit Weights(Harness& harness, int dead = -1) {
        update.weights = harness.random(1, count);
        update.gradient = harness.random(1, count);
        update.decayed = decayed;
        update.learning_rates =
            harness.per_replica<float>([](int replica) { return static_cast<float>(rate_of(replica)); });
        update.weight_decay =
            harness.per_replica<float>([](int replica) { return static_cast<float>(decay_of(replica)); });
        update.factor = harness.per_replica<float>([](int replica) { return static_cast<float>(factor_of(replica)); });
        update.alive = harness.per_replica<std::uint8_t>([=](int replica) { return replica == dead ? 0 : 1; });
        first = harness.random(1, count, -0.1, 0.1);
        second = harness.random(1, count, 0, 0.1);
        iteration =
            harness.per_replica<std::uint32_t>([](int replica) { return 10U * static_cast<std::uint32_t>(replica); });
    }
};

TEST(AdamW, AgreesWithItsDefinition) {
    fused_and_alone([&](Harness& harness) {
        const Weights c(harness);
        const Tensor beta1 = harness.per_replica<float>([](int) { return 0.9F; });
        const Tensor beta2 = harness.per_replica<float>([](int replica) { return replica == 1 ? 0.99F : 0.999F; });
        const Tensor epsilon = harness.per_replica<float>([](int) { return 1e-8F; });
        harness.start();
        for (int step = 0; step < 2; ++step) {
            std::vector<Numbers> w, m, v;
            for (int k = 0; k < harness.replicas(); ++k) {
                w.push_back(harness.values(c.update.weights, k));
                m.push_back(harness.values(c.first, k));
                v.push_back(harness.values(c.second, k));
            }
            harness.stream().enqueue(AdamW{.update = c.update,
                                           .first_moment = c.first,
                                           .second_moment = c.second,
                                           .beta1 = beta1,
                                           .beta2 = beta2,
                                           .epsilon = epsilon,
                                           .iteration = c.iteration});
            harness.stream().enqueue(Advance{.iteration = c.iteration, .alive = c.update.alive});
            for (int k = 0; k < harness.replicas(); ++k) {
                const int replica = harness.value_index_of(k);
                const double b1 = 0.9, b2 = replica == 1 ? 0.99 : 0.999, t = 10 * replica + 1 + step;
                const Numbers g = harness.values(c.update.gradient, k);
                for (std::size_t i = 0; i < number(count); ++i) {
                    const double gradient = g[i] * factor_of(replica);
                    double& weight = w[number(k)][i];
                    if (i < number(decayed)) weight *= 1 - rate_of(replica) * decay_of(replica);
                    double& first = m[number(k)][i] = b1 * m[number(k)][i] + (1 - b1) * gradient;
                    double& second = v[number(k)][i] = b2 * v[number(k)][i] + (1 - b2) * gradient * gradient;
                    weight -= rate_of(replica) * (first / (1 - std::pow(b1, t))) /
                              (std::sqrt(second / (1 - std::pow(b2, t))) + 1e-8);
                }
                expect_near(harness.values(c.update.weights, k), w[number(k)], 3e-6);
                expect_near(harness.values(c.first, k), m[number(k)], 1e-6);
                expect_near(harness.values(c.second, k), v[number(k)], 1e-6);
            }
        }
    });
}

TEST(Sgd, AgreesWithItsDefinition) {
    for (const bool nesterov : {false, true})
        fused_and_alone([&](Harness& harness) {
            const Weights c(harness);
            const Tensor momentum = harness.per_replica<float>([](int replica) { return replica == 0 ? 0.0F : 0.9F; });
            harness.start();
            std::vector<Numbers> w, u;
            for (int k = 0; k < harness.replicas(); ++k) {
                w.push_back(harness.values(c.update.weights, k));
                u.push_back(harness.values(c.first, k));
            }
            harness.stream().enqueue(Sgd{c.update, c.first, momentum, nesterov});
            for (int k = 0; k < harness.replicas(); ++k) {
                const int replica = harness.value_index_of(k);
                const double mu = replica == 0 ? 0 : 0.9;
                const Numbers g = harness.values(c.update.gradient, k);
                for (std::size_t i = 0; i < number(count); ++i) {
                    double& weight = w[number(k)][i];
                    const double gradient =
                        g[i] * factor_of(replica) + (i < number(decayed) ? decay_of(replica) * weight : 0);
                    double& velocity = u[number(k)][i] = mu * u[number(k)][i] + gradient;
                    weight -= rate_of(replica) * (nesterov ? gradient + mu * velocity : velocity);
                }
                expect_near(harness.values(c.update.weights, k), w[number(k)], 1e-6);
                expect_near(harness.values(c.first, k), u[number(k)], 1e-6);
            }
        });
}

TEST(Lion, AgreesWithItsDefinition) {
    fused_and_alone([&](Harness& harness) {
        const Weights c(harness);
        const Tensor beta1 = harness.per_replica<float>([](int) { return 0.9F; });
        const Tensor beta2 = harness.per_replica<float>([](int replica) { return replica == 1 ? 0.95F : 0.99F; });
        harness.start();
        std::vector<Numbers> w, m;
        for (int k = 0; k < harness.replicas(); ++k) {
            w.push_back(harness.values(c.update.weights, k));
            m.push_back(harness.values(c.first, k));
        }
        harness.stream().enqueue(Lion{c.update, c.first, beta1, beta2});
        for (int k = 0; k < harness.replicas(); ++k) {
            const int replica = harness.value_index_of(k);
            const double b2 = replica == 1 ? 0.95 : 0.99;
            const Numbers g = harness.values(c.update.gradient, k);
            for (std::size_t i = 0; i < number(count); ++i) {
                const double gradient = g[i] * factor_of(replica);
                double& weight = w[number(k)][i];
                double& moment = m[number(k)][i];
                const double direction = 0.9 * moment + 0.1 * gradient;
                if (i < number(decayed)) weight *= 1 - rate_of(replica) * decay_of(replica);
                weight -= rate_of(replica) * (direction > 0 ? 1 : direction < 0 ? -1 : 0);
                moment = b2 * moment + (1 - b2) * gradient;
            }
            expect_near(harness.values(c.update.weights, k), w[number(k)], 1e-6);
            expect_near(harness.values(c.first, k), m[number(k)], 1e-6);
        }
    });
}

TEST(Combine, AddsMultiplesAndDividesByTheNorm) {
    fused_and_alone([](Harness& harness) {
        const Tensor from = harness.random(3, 37), to = harness.random(3, 37), alone = harness.random(3, 37);
        const Tensor norm = harness.per_replica<float>([](int replica) { return 2.0F + static_cast<float>(replica); });
        harness.start();
        std::vector<Numbers> before, unscaled;
        for (int k = 0; k < harness.replicas(); ++k) {
            before.push_back(harness.values(to, k));
            unscaled.push_back(harness.values(alone, k));
        }
        harness.stream().enqueue(
            Combine{.from = from, .to = to, .from_factor = 0.5F, .to_factor = -3.0F, .norm = norm});
        harness.stream().enqueue(Combine{.to = alone, .to_factor = 2});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers other = harness.values(from, k);
            const double divisor = harness.values(norm, k)[0];
            Numbers wanted(other.size()), doubled(other.size());
            for (std::size_t i = 0; i < other.size(); ++i) {
                wanted[i] = (0.5 * other[i] - 3 * before[static_cast<std::size_t>(k)][i]) / divisor;
                doubled[i] = 2 * unscaled[static_cast<std::size_t>(k)][i];
            }
            expect_near(harness.values(to, k), wanted, 1e-6);
            expect_near(harness.values(alone, k), doubled, 1e-6);
        }
    });
}

TEST(Lion, MovesEveryWeightByTheLearningRateWhateverTheSizeOfItsGradient) {
    // Chen et al. 2023, section 3.2: the sign gives an update of the same magnitude in all dimensions.
    for (const float size : {1.0F, 1e-6F, 1e6F})
        fused_and_alone([&](Harness& harness) {
            Weights c(harness);
            c.update.decayed = 0;
            const Tensor beta = harness.per_replica<float>([](int) { return 0.9F; });
            harness.start();
            harness.stream().enqueue(Fill{c.update.weights, 0});
            harness.stream().enqueue(Fill{c.first, 0});
            for (int k = 0; k < harness.replicas(); ++k) {
                std::vector<float> gradient;
                for (const double g : harness.values(c.update.gradient, k))
                    gradient.push_back(static_cast<float>(g) * size);
                harness.stream().write(c.update.gradient, k, std::span<const float>(gradient));
            }
            harness.stream().enqueue(Lion{c.update, c.first, beta, beta});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers g = harness.values(c.update.gradient, k), w = harness.values(c.update.weights, k);
                for (std::size_t i = 0; i < number(count); ++i)
                    EXPECT_EQ(w[i], static_cast<double>(static_cast<float>(rate_of(harness.value_index_of(k)))) *
                                        (g[i] > 0 ? -1 : 1));
            }
        });
}

TEST(Average, FollowsTheWeightsFastAtFirstAndByItsDecayLater) {
    fused_and_alone([&](Harness& harness) {
        const Tensor weights = harness.random(1, count), average = harness.random(1, count);
        const Tensor alive = harness.per_replica<std::uint8_t>([](int replica) { return replica == 1 ? 0 : 1; });
        const Tensor iteration =
            harness.per_replica<std::uint32_t>([](int replica) { return replica == 0 ? 2U : 500U; });
        harness.start();
        std::vector<Numbers> wanted;
        for (int k = 0; k < harness.replicas(); ++k) {
            const int replica = harness.value_index_of(k);
            const Numbers w = harness.values(weights, k);
            wanted.push_back(harness.values(average, k));
            if (replica == 1) continue;
            const double decay = replica == 0 ? 4.0 / 13 : 0.9;
            for (std::size_t i = 0; i < number(count); ++i)
                wanted.back()[i] = decay * wanted.back()[i] + (1 - decay) * w[i];
        }
        harness.stream().enqueue(
            Average{.weights = weights, .average = average, .iteration = iteration, .alive = alive, .decay = 0.9F});
        for (int k = 0; k < harness.replicas(); ++k) expect_near(harness.values(average, k), wanted[number(k)], 1e-6);
    });
}

TEST(Optimizers, LeaveReplicasThatAreNotAliveAsTheyAre) {
    fused_and_alone([&](Harness& harness) {
        const Weights c(harness, 1);
        const Tensor half = harness.per_replica<float>([](int) { return 0.5F; });
        harness.start();
        std::vector<std::vector<std::byte>> before;
        for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.replica_bytes(k));
        harness.stream().enqueue(AdamW{.update = c.update,
                                       .first_moment = c.first,
                                       .second_moment = c.second,
                                       .beta1 = half,
                                       .beta2 = half,
                                       .epsilon = half,
                                       .iteration = c.iteration});
        harness.stream().enqueue(Sgd{c.update, c.first, half, true});
        harness.stream().enqueue(Lion{c.update, c.first, half, half});
        harness.stream().enqueue(Average{.weights = c.update.weights,
                                         .average = c.second,
                                         .iteration = c.iteration,
                                         .alive = c.update.alive,
                                         .decay = 0.5F});
        harness.stream().enqueue(Advance{.iteration = c.iteration, .alive = c.update.alive});
        for (int k = 0; k < harness.replicas(); ++k)
            EXPECT_EQ(harness.replica_bytes(k) == before[number(k)], harness.value_index_of(k) == 1) << k;
    });
}

TEST(Optimizers, RoundTheDecayedWeightsAsRoundDoesAndLeaveThoseOfDeadReplicas) {
    for (const Precision precision : {Precision::bfloat16, Precision::float16})
        fused_and_alone([&](Harness& harness) {
            struct Case {
                Weights weights;
                Tensor rounded;
            };
            std::vector<Case> cases;
            for (int i = 0; i < 3; ++i) {
                Case c{Weights(harness, 1), harness.rounded(1, decayed, operand_type(precision))};
                c.weights.update.rounded = harness.rounded(1, decayed, operand_type(precision));
                cases.push_back(c);
            }
            const Tensor half = harness.per_replica<float>([](int) { return 0.5F; });
            harness.start();
            if (!harness.device().computes_in(precision)) return;
            Stream& stream = harness.stream();
            const Weights &a = cases[0].weights, &b = cases[1].weights, &c = cases[2].weights;
            stream.enqueue(AdamW{.update = a.update,
                                 .first_moment = a.first,
                                 .second_moment = a.second,
                                 .beta1 = half,
                                 .beta2 = half,
                                 .epsilon = half,
                                 .iteration = a.iteration});
            stream.enqueue(Sgd{b.update, b.first, half, true});
            stream.enqueue(Lion{c.update, c.first, half, half});
            for (const auto& [weights, rounded] : cases) {
                stream.enqueue(Round{weights.update.weights.slice(0, 1, decayed), rounded});
                for (int k = 0; k < harness.replicas(); ++k) {
                    const std::vector<std::byte> none(rounded.bytes());
                    const bool dead = harness.value_index_of(k) == 1;
                    EXPECT_EQ(harness.bytes(weights.update.rounded, k), dead ? none : harness.bytes(rounded, k));
                    EXPECT_NE(harness.bytes(rounded, k), none);
                }
            }
        });
}

TEST(Optimizers, KeepPaddingOfZeroAtZero) {
    fused_and_alone([&](Harness& harness) {
        const Weights c(harness);
        const Tensor half = harness.per_replica<float>([](int) { return 0.5F; });
        harness.start();
        for (const auto& tensor : {c.update.weights, c.update.gradient, c.first, c.second})
            harness.stream().enqueue(Fill{tensor, 0});
        harness.stream().enqueue(AdamW{.update = c.update,
                                       .first_moment = c.first,
                                       .second_moment = c.second,
                                       .beta1 = half,
                                       .beta2 = half,
                                       .epsilon = half,
                                       .iteration = c.iteration});
        harness.stream().enqueue(Sgd{c.update, c.first, half, true});
        harness.stream().enqueue(Lion{c.update, c.first, half, half});
        for (int k = 0; k < harness.replicas(); ++k)
            expect_near(harness.values(c.update.weights, k), Numbers(number(count)), 0);
    });
}

TEST(GradientNorm, IsTheEuclideanNormAndTheFactorThatKeepsItsLimit) {
    for (const std::int64_t size : {1, 3, 17, 4097, 10000, 300'001})
        fused_and_alone([&](Harness& harness) {
            const Tensor gradient = harness.random(1, size);
            const Tensor limit = harness.per_replica<float>([](int replica) {
                return replica == 0 ? 0 : replica == 1 ? 0.01F : 1e6F;
            });
            const Tensor norm = harness.output(1, 1), factor = harness.output(1, 1);
            harness.start();
            harness.stream().enqueue(GradientNorm{gradient, limit, norm, factor});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers g = harness.values(gradient, k);
                const double wanted = std::sqrt(dot(g, g));
                expect_near(harness.values(norm, k), {wanted}, 1e-6);
                const bool clipped = harness.value_index_of(k) == 1 && wanted > 0.01;
                expect_near(harness.values(factor, k), {clipped ? 0.01 / wanted : 1}, 1e-6);
            }
        });
}

struct Scaled {
    GradientNorm norm;

    /// Replica 0 has the initial scale. Replica 1's scale grows after one more finite gradient. Replica 2's scale is 1.
    explicit Scaled(Harness& harness) {
        norm.gradient = harness.random(1, 300);
        norm.limit = harness.per_replica<float>([](int) { return 1e-4F; });
        norm.norm = harness.output(1, 1);
        norm.factor = harness.output(1, 1);
        norm.scaling.scale =
            harness.per_replica<float>([](int replica) { return replica == 2 ? 1 : LossScale::first; });
        norm.scaling.good =
            harness.per_replica<float>([](int replica) { return replica == 1 ? LossScale::growth - 1 : 5.0F; });
        norm.scaling.valid = harness.per_replica<std::uint8_t>([](int) { return 7; });
    }
};

TEST(LossScale, IsTakenOutOfTheGradientAndGrowsAfterManyGoodOnes) {
    fused_and_alone([&](Harness& harness) {
        const Scaled c(harness);
        harness.start();
        harness.stream().enqueue(c.norm);
        for (int k = 0; k < harness.replicas(); ++k) {
            const int replica = harness.value_index_of(k);
            const double scale = replica == 2 ? 1 : LossScale::first;
            const Numbers g = harness.values(c.norm.gradient, k);
            const double wanted = std::sqrt(dot(g, g)) / scale;
            expect_near(harness.values(c.norm.norm, k), {wanted}, 1e-6);
            expect_near(harness.values(c.norm.factor, k), {std::min(1.0, 1e-4 / wanted) / scale}, 1e-6);
            EXPECT_EQ(harness.stream().read<std::uint8_t>(c.norm.scaling.valid, k), 1);
            EXPECT_EQ(harness.stream().read<float>(c.norm.scaling.scale, k), replica == 1 ? 2 * scale : scale);
            EXPECT_EQ(harness.stream().read<float>(c.norm.scaling.good, k), replica == 1 ? 0 : 6);
        }
    });
}

TEST(LossScale, HalvesAndLeavesTheUpdateOutWhereTheGradientIsNotFinite) {
    for (const float wrong : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        fused_and_alone([&](Harness& harness) {
            const Scaled s(harness);
            Weights c(harness);
            c.update.valid = s.norm.scaling.valid;
            const Tensor half = harness.per_replica<float>([](int) { return 0.5F; });
            harness.start();
            for (int k = 0; k < harness.replicas(); ++k) harness.stream().write(s.norm.gradient.at(217), k, wrong);
            std::vector<Numbers> before;
            for (int k = 0; k < harness.replicas(); ++k) before.push_back(harness.values(c.update.weights, k));
            harness.stream().enqueue(s.norm);
            harness.stream().enqueue(AdamW{.update = c.update,
                                           .first_moment = c.first,
                                           .second_moment = c.second,
                                           .beta1 = half,
                                           .beta2 = half,
                                           .epsilon = half,
                                           .iteration = c.iteration});
            harness.stream().enqueue(Sgd{c.update, c.first, half, true});
            harness.stream().enqueue(Lion{c.update, c.first, half, half});
            for (int k = 0; k < harness.replicas(); ++k) {
                expect_near(harness.values(s.norm.norm, k), {0}, 0);
                expect_near(harness.values(s.norm.factor, k), {0}, 0);
                EXPECT_EQ(harness.stream().read<std::uint8_t>(s.norm.scaling.valid, k), 0);
                EXPECT_EQ(harness.stream().read<float>(s.norm.scaling.scale, k),
                          harness.value_index_of(k) == 2 ? 1 : LossScale::first / 2);
                EXPECT_EQ(harness.stream().read<float>(s.norm.scaling.good, k), 0);
                EXPECT_EQ(harness.values(c.update.weights, k), before[number(k)]);
            }
        });
}

TEST(AdamW, WithinTheBackwardPassUpdatesAsAfterIt) {
    constexpr std::int64_t shapes[][3] = {{1, 1, 1}, {17, 33, 65}, {32, 130, 10}, {70, 64, 64}};
    for (const auto& [batch, inputs, outputs] : shapes)
        for (const Precision precision : {Precision::float32, Precision::bfloat16})
            fused_and_alone([&](Harness& harness) {
                const Weights c(harness, 1);
                const Tensor x = harness.random(batch, inputs), dy = harness.random(batch, outputs);
                const Tensor w = harness.random(outputs, inputs), dw = harness.output(outputs, inputs);
                const Tensor m = harness.random(outputs, inputs), v = harness.random(outputs, inputs, 0, 1);
                const Tensor own_w = harness.output(outputs, inputs), own_m = harness.output(outputs, inputs),
                             own_v = harness.output(outputs, inputs);
                const Tensor dx = harness.output(batch, inputs), own_dx = harness.output(batch, inputs);
                const Tensor roots = harness.output(1, gradient_parts(outputs, inputs));
                const Tensor beta1 = harness.per_replica<float>([](int) { return 0.9F; });
                const Tensor beta2 = harness.per_replica<float>([](int) { return 0.999F; });
                const Tensor epsilon = harness.per_replica<float>([](int) { return 1e-8F; });
                const bool rounds = operand_type(precision) != Type::f32;
                // The weights that products read: the numbers themselves, or rounded ones.
                const auto read = [&](const Tensor& of) {
                    return rounds ? harness.rounded(of.rows, of.columns, operand_type(precision)) : of;
                };
                const Tensor read_dy = read(dy), read_x = read(x), read_w = read(w), read_own_w = read(own_w);
                harness.start();
                Stream& stream = harness.stream();
                if (!stream.updates_in_backward() || !harness.device().computes_in(precision)) return;
                stream.enqueue(Copy{w, own_w});
                stream.enqueue(Copy{m, own_m});
                stream.enqueue(Copy{v, own_v});
                if (rounds) {
                    stream.enqueue(Round{dy, read_dy});
                    stream.enqueue(Round{x, read_x});
                    for (const Tensor& to : {read_w, read_own_w}) stream.enqueue(Round{w, to});
                }
                LinearBackward backward{read_dy, read_x, read_w, dw, dx};
                backward.precision = precision;
                Update update = c.update;
                update.weights = own_w;
                update.gradient = update.factor = {};
                update.decayed = rounds ? outputs * inputs : outputs * inputs / 2;
                if (rounds) update.rounded = read_own_w;
                const AdamW within{update, own_m, own_v, beta1, beta2, epsilon, c.iteration};
                LinearBackward updating = backward;
                updating.weight = read_own_w;
                updating.weight_gradient = {};
                updating.input_gradient = own_dx;
                updating.adamw = &within;
                updating.roots = roots;
                stream.enqueue(updating);
                stream.enqueue(backward);
                update.weights = w;
                update.gradient = dw;
                update.rounded = {};
                stream.enqueue(AdamW{.update = update,
                                     .first_moment = m,
                                     .second_moment = v,
                                     .beta1 = beta1,
                                     .beta2 = beta2,
                                     .epsilon = epsilon,
                                     .iteration = c.iteration});
                if (rounds) stream.enqueue(Round{own_w, read_w});
                for (int k = 0; k < harness.replicas(); ++k) {
                    // Libraries add in another order.
                    expect_near(harness.values(own_dx, k), harness.values(dx, k), 2e-5);
                    expect_near(harness.values(own_m, k), harness.values(m, k), 2e-5);
                    expect_near(harness.values(own_v, k), harness.values(v, k), 2e-5);
                    expect_near(harness.values(own_w, k), harness.values(w, k), 2e-5);
                    EXPECT_EQ(harness.bytes(rounds ? read_own_w : own_w, k), harness.bytes(rounds ? read_w : own_w, k));
                    double squares = 0, of_roots = 0;
                    for (const double g : harness.values(dw, k)) squares += g * g;
                    for (const double root : harness.values(roots, k)) of_roots += root * root;
                    EXPECT_NEAR(std::sqrt(of_roots), std::sqrt(squares), 1e-5 * std::sqrt(squares));
                }
            });
}

}  // namespace
}  // namespace hpo::test
