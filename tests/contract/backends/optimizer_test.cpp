#include "tests/contract/backends/rig.hpp"

namespace hpo::test {
namespace {

constexpr std::int64_t count = 167;
constexpr std::int64_t decayed = 65;

double rate_of(int lane) { return 0.01 * (lane + 1); }
double decay_of(int lane) { return 0.1 * lane; }
double factor_of(int lane) { return lane == 2 ? 0.5 : 1.0; }

struct Weights {
    Update update;
    Tensor first, second, alive, iteration;

    explicit Weights(Rig& rig, int dead = -1) {
        update.weights = rig.random(1, count);
        update.gradient = rig.random(1, count);
        update.decayed = decayed;
        update.learning_rates = rig.lane_array<float>([](int lane) { return static_cast<float>(rate_of(lane)); });
        update.weight_decay = rig.lane_array<float>([](int lane) { return static_cast<float>(decay_of(lane)); });
        update.factor = rig.lane_array<float>([](int lane) { return static_cast<float>(factor_of(lane)); });
        update.alive = rig.lane_array<std::uint8_t>([=](int lane) { return lane == dead ? 0 : 1; });
        first = rig.random(1, count, -0.1, 0.1);
        second = rig.random(1, count, 0, 0.1);
        iteration = rig.lane_array<std::uint32_t>([](int lane) { return 10U * static_cast<std::uint32_t>(lane); });
    }
};

TEST(AdamW, AgreesWithItsDefinition) {
    in_every_way([&](Rig& rig) {
        const Weights c(rig);
        const Tensor beta1 = rig.lane_array<float>([](int) { return 0.9F; });
        const Tensor beta2 = rig.lane_array<float>([](int lane) { return lane == 1 ? 0.99F : 0.999F; });
        const Tensor epsilon = rig.lane_array<float>([](int) { return 1e-8F; });
        rig.start();
        for (int step = 0; step < 2; ++step) {
            std::vector<Numbers> w, m, v;
            for (int k = 0; k < rig.lanes(); ++k) {
                w.push_back(rig.values(c.update.weights, k));
                m.push_back(rig.values(c.first, k));
                v.push_back(rig.values(c.second, k));
            }
            rig.stream().adamw({c.update, c.first, c.second, beta1, beta2, epsilon, c.iteration});
            rig.stream().advance({.iteration = c.iteration, .alive = c.update.alive});
            for (int k = 0; k < rig.lanes(); ++k) {
                const int lane = rig.name_of(k);
                const double b1 = 0.9, b2 = lane == 1 ? 0.99 : 0.999, t = 10 * lane + 1 + step;
                const Numbers g = rig.values(c.update.gradient, k);
                for (std::size_t i = 0; i < number(count); ++i) {
                    const double gradient = g[i] * factor_of(lane);
                    double& weight = w[number(k)][i];
                    if (i < number(decayed)) weight *= 1 - rate_of(lane) * decay_of(lane);
                    double& first = m[number(k)][i] = b1 * m[number(k)][i] + (1 - b1) * gradient;
                    double& second = v[number(k)][i] = b2 * v[number(k)][i] + (1 - b2) * gradient * gradient;
                    weight -= rate_of(lane) * (first / (1 - std::pow(b1, t))) /
                              (std::sqrt(second / (1 - std::pow(b2, t))) + 1e-8);
                }
                expect_near(rig.values(c.update.weights, k), w[number(k)], 3e-6);
                expect_near(rig.values(c.first, k), m[number(k)], 1e-6);
                expect_near(rig.values(c.second, k), v[number(k)], 1e-6);
            }
        }
    });
}

TEST(Sgd, AgreesWithItsDefinition) {
    for (const bool nesterov : {false, true})
        in_every_way([&](Rig& rig) {
            const Weights c(rig);
            const Tensor momentum = rig.lane_array<float>([](int lane) { return lane == 0 ? 0.0F : 0.9F; });
            rig.start();
            std::vector<Numbers> w, u;
            for (int k = 0; k < rig.lanes(); ++k) {
                w.push_back(rig.values(c.update.weights, k));
                u.push_back(rig.values(c.first, k));
            }
            rig.stream().sgd({c.update, c.first, momentum, nesterov});
            for (int k = 0; k < rig.lanes(); ++k) {
                const int lane = rig.name_of(k);
                const double mu = lane == 0 ? 0 : 0.9;
                const Numbers g = rig.values(c.update.gradient, k);
                for (std::size_t i = 0; i < number(count); ++i) {
                    double& weight = w[number(k)][i];
                    const double gradient =
                        g[i] * factor_of(lane) + (i < number(decayed) ? decay_of(lane) * weight : 0);
                    double& velocity = u[number(k)][i] = mu * u[number(k)][i] + gradient;
                    weight -= rate_of(lane) * (nesterov ? gradient + mu * velocity : velocity);
                }
                expect_near(rig.values(c.update.weights, k), w[number(k)], 1e-6);
                expect_near(rig.values(c.first, k), u[number(k)], 1e-6);
            }
        });
}

TEST(Optimizers, LeaveLanesThatAreNotAliveAsTheyAre) {
    in_every_way([&](Rig& rig) {
        const Weights c(rig, 1);
        const Tensor half = rig.lane_array<float>([](int) { return 0.5F; });
        rig.start();
        std::vector<std::vector<std::byte>> before;
        for (int k = 0; k < rig.lanes(); ++k) before.push_back(rig.lane_bytes(k));
        rig.stream().adamw({c.update, c.first, c.second, half, half, half, c.iteration});
        rig.stream().sgd({c.update, c.first, half, true});
        rig.stream().advance({.iteration = c.iteration, .alive = c.update.alive});
        for (int k = 0; k < rig.lanes(); ++k)
            EXPECT_EQ(rig.lane_bytes(k) == before[number(k)], rig.name_of(k) == 1) << k;
    });
}

TEST(Optimizers, KeepPaddingOfZeroAtZero) {
    in_every_way([&](Rig& rig) {
        const Weights c(rig);
        const Tensor half = rig.lane_array<float>([](int) { return 0.5F; });
        rig.start();
        for (const auto& tensor : {c.update.weights, c.update.gradient, c.first, c.second})
            rig.stream().fill(tensor, 0);
        rig.stream().adamw({c.update, c.first, c.second, half, half, half, c.iteration});
        rig.stream().sgd({c.update, c.first, half, true});
        for (int k = 0; k < rig.lanes(); ++k) expect_near(rig.values(c.update.weights, k), Numbers(number(count)), 0);
    });
}

TEST(GradientNorm, IsTheEuclideanNormAndTheFactorThatKeepsItsLimit) {
    for (const std::int64_t size : {1, 3, 17, 4097, 10000, 300'001})
        in_every_way([&](Rig& rig) {
            const Tensor gradient = rig.random(1, size);
            const Tensor limit = rig.lane_array<float>([](int lane) {
                return lane == 0 ? 0 : lane == 1 ? 0.01F : 1e6F;
            });
            const Tensor norm = rig.output(1, 1), factor = rig.output(1, 1);
            rig.start();
            rig.stream().gradient_norm({gradient, limit, norm, factor});
            for (int k = 0; k < rig.lanes(); ++k) {
                const Numbers g = rig.values(gradient, k);
                const double wanted = std::sqrt(dot(g, g));
                expect_near(rig.values(norm, k), {wanted}, 1e-6);
                const bool clipped = rig.name_of(k) == 1 && wanted > 0.01;
                expect_near(rig.values(factor, k), {clipped ? 0.01 / wanted : 1}, 1e-6);
            }
        });
}

struct Scaled {
    GradientNorm norm;

    /// Lane 0 has the first scale, lane 1 is one good gradient from growing, lane 2 has a scale of 1.
    explicit Scaled(Rig& rig) {
        norm.gradient = rig.random(1, 300);
        norm.limit = rig.lane_array<float>([](int) { return 1e-4F; });
        norm.norm = rig.output(1, 1);
        norm.factor = rig.output(1, 1);
        norm.scaling.scale = rig.lane_array<float>([](int lane) { return lane == 2 ? 1 : LossScale::first; });
        norm.scaling.good = rig.lane_array<float>([](int lane) { return lane == 1 ? LossScale::growth - 1 : 5.0F; });
        norm.scaling.valid = rig.lane_array<std::uint8_t>([](int) { return 7; });
    }
};

TEST(LossScale, IsTakenOutOfTheGradientAndGrowsAfterManyGoodOnes) {
    in_every_way([&](Rig& rig) {
        const Scaled c(rig);
        rig.start();
        rig.stream().gradient_norm(c.norm);
        for (int k = 0; k < rig.lanes(); ++k) {
            const int lane = rig.name_of(k);
            const double scale = lane == 2 ? 1 : LossScale::first;
            const Numbers g = rig.values(c.norm.gradient, k);
            const double wanted = std::sqrt(dot(g, g)) / scale;
            expect_near(rig.values(c.norm.norm, k), {wanted}, 1e-6);
            expect_near(rig.values(c.norm.factor, k), {std::min(1.0, 1e-4 / wanted) / scale}, 1e-6);
            EXPECT_EQ(rig.stream().read<std::uint8_t>(c.norm.scaling.valid, k), 1);
            EXPECT_EQ(rig.stream().read<float>(c.norm.scaling.scale, k), lane == 1 ? 2 * scale : scale);
            EXPECT_EQ(rig.stream().read<float>(c.norm.scaling.good, k), lane == 1 ? 0 : 6);
        }
    });
}

TEST(LossScale, HalvesAndLeavesTheUpdateOutWhereTheGradientIsNotFinite) {
    for (const float wrong : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        in_every_way([&](Rig& rig) {
            const Scaled s(rig);
            Weights c(rig);
            c.update.valid = s.norm.scaling.valid;
            const Tensor half = rig.lane_array<float>([](int) { return 0.5F; });
            rig.start();
            for (int k = 0; k < rig.lanes(); ++k) rig.stream().write(s.norm.gradient.at(217), k, wrong);
            std::vector<Numbers> before;
            for (int k = 0; k < rig.lanes(); ++k) before.push_back(rig.values(c.update.weights, k));
            rig.stream().gradient_norm(s.norm);
            rig.stream().adamw({c.update, c.first, c.second, half, half, half, c.iteration});
            rig.stream().sgd({c.update, c.first, half, true});
            for (int k = 0; k < rig.lanes(); ++k) {
                expect_near(rig.values(s.norm.norm, k), {0}, 0);
                expect_near(rig.values(s.norm.factor, k), {0}, 0);
                EXPECT_EQ(rig.stream().read<std::uint8_t>(s.norm.scaling.valid, k), 0);
                EXPECT_EQ(rig.stream().read<float>(s.norm.scaling.scale, k),
                          rig.name_of(k) == 2 ? 1 : LossScale::first / 2);
                EXPECT_EQ(rig.stream().read<float>(s.norm.scaling.good, k), 0);
                EXPECT_EQ(rig.values(c.update.weights, k), before[number(k)]);
            }
        });
}

}  // namespace
}  // namespace hpo::test
