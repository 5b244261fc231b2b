#include "worker/models/mlp.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "tests/support/mentions.hpp"
#include "tests/unit/models/allocations.hpp"
#include "tests/unit/models/net.hpp"

namespace hpo::test {
namespace {

using ::testing::ElementsAre;

struct MlpNet : Net {
    MlpNet(const MlpShape& shape, std::int64_t features, std::int64_t classes, std::int64_t rows, int replicas,
           int first = 0)
        : Net(std::make_unique<Mlp>(shape, ModelShape{features, classes}), rows, replicas, first) {}
};

const MlpShape shapes[] = {
    {{}, Activation::relu, false},
    {{33}, Activation::relu, false},
    {{17, 9}, Activation::relu, true},
    {{17, 9, 5}, Activation::gelu, false},
    {{17, 9}, Activation::gelu, true},
    {{17, 9}, Activation::silu, false},
    {{130, 33}, Activation::silu, true},
    {{}, Activation::relu, false, 3, {{0, 7}}},
    {{17, 9}, Activation::gelu, true, 2, {{1, 3}, {5, 2}}},
    {{17, 9}, Activation::silu, false, 0, {}, 3},
    {{130}, Activation::relu, false, 2, {{1, 3}}, 6},
};

TEST(Mlp, OfTheUsualShapeHas567434ParametersUnderTheUsualNames) {
    const Mlp model({{512, 256, 128}, Activation::relu, false}, {784, 10});
    EXPECT_EQ(model.block().count(), 567434);
    const auto& parameters = model.block().parameters;
    ASSERT_EQ(parameters.size(), 8U);
    EXPECT_EQ(parameters[0].name, "layers.0.weight");
    EXPECT_THAT(parameters[0].shape, ElementsAre(512, 784));
    EXPECT_EQ(parameters[7].name, "layers.3.bias");
    EXPECT_THAT(parameters[7].shape, ElementsAre(10));
    EXPECT_DOUBLE_EQ(model.forward_flops(), 2.0 * (784 * 512 + 512 * 256 + 256 * 128 + 128 * 10));
    EXPECT_DOUBLE_EQ(model.backward_flops(), 2 * model.forward_flops() - 2.0 * 784 * 512);
}

TEST(Mlp, NamesItsNorms) {
    const Mlp model({{4}, Activation::relu, true}, {3, 2});
    std::vector<std::string> names;
    for (const auto& parameter : model.block().parameters) names.push_back(parameter.name);
    EXPECT_THAT(names, ElementsAre("layers.0.weight", "layers.0.bias", "layers.0.norm.weight", "layers.0.norm.bias",
                                   "layers.1.weight", "layers.1.bias"));
}

TEST(Mlp, EmbedsCategoricalColumnsBeforeItsFirstLayer) {
    const MlpShape shape{{4}, Activation::relu, false, 3, {{1, 2}, {4, 9}}};
    const Mlp model(shape, {14, 2});
    std::vector<std::string> names;
    for (const auto& parameter : model.block().parameters) names.push_back(parameter.name);
    EXPECT_THAT(names, ElementsAre("embeddings.0.weight", "embeddings.1.weight", "layers.0.weight", "layers.0.bias",
                                   "layers.1.weight", "layers.1.bias"));
    EXPECT_THAT(model.block().parameters[0].shape, ElementsAre(2, 1));  // half as many as levels
    EXPECT_THAT(model.block().parameters[1].shape, ElementsAre(9, 3));
    EXPECT_THAT(model.block().parameters[2].shape, ElementsAre(4, 3 + 1 + 3));
    EXPECT_THAT(model.remarks(), ElementsAre(MentionsInOrder("embeddings: ", "2 columns", "11 levels", "4 numbers",
                                                             "at most 3", "7 inputs")));
    EXPECT_THAT(Mlp({{4}, Activation::relu, false, 0, {{1, 2}}}, {14, 2}).remarks(), ElementsAre());
}

TEST(Mlp, AnEmbeddedLevelIsARowOfItsTableAmongTheNumbers) {
    MlpNet net({{}, Activation::relu, false, 3, {{1, 2}, {4, 4}}}, 9, 1, 2, 1);
    const std::vector<float> samples{0.5F, 0, 1, -2, 0, 0, 1, 0, 3, 0.25F, 1, 0, 4, 1, 0, 0, 0, -1};
    net.stream->write(net.input, 0, std::span<const float>(samples));
    const auto values = [&](std::size_t index) {
        return net.read(net.model.block().parameters[index].in(net.weights), 0);
    };
    const auto first = values(0), second = values(1), weight = values(2);
    const auto got = net.read(net.model.forward(*net.stream, net.weights, net.input, nullptr), 0);
    const std::vector<float> rows[] = {{0.5F, first[1], -2, second[4], second[5], 3},
                                       {0.25F, first[0], 4, second[0], second[1], -1}};
    for (std::size_t row = 0; row < 2; ++row) {
        double wanted = 0;
        for (std::size_t i = 0; i < 6; ++i) wanted += weight[i] * rows[row][i];
        EXPECT_NEAR(got[row], wanted, 1e-6);
    }
}

TEST(Mlp, BatchNormsTakeThePlaceOfBiasesAndTheirStatisticsAreNotTrained) {
    const MlpShape shape{{4}, Activation::relu, false, 0, {}, 3};
    MlpNet net(shape, 3, 2, 7, 1);
    std::vector<std::string> names;
    for (const auto& parameter : net.model.block().parameters) names.push_back(parameter.name);
    EXPECT_THAT(names, ElementsAre("layers.0.weight", "layers.0.norm.weight", "layers.0.norm.bias",
                                   "layers.0.norm.running_mean", "layers.0.norm.running_var", "layers.1.weight",
                                   "layers.1.bias"));
    EXPECT_EQ(net.model.block().count(), 4 * 3 + 4 + 4 + 2 * 4 + 2);
    EXPECT_EQ(net.model.indivisible(7), 4);
    EXPECT_EQ(net.model.indivisible(100), 4);
    EXPECT_THAT(net.model.remarks(), ElementsAre(MentionsInOrder("norm: ", "7 samples", "2 ghost", "4, ", "3")));
    // The first update replaces the statistics that the model begins with; no gradient and no decay moves them.
    net.step();
    const auto& running = net.model.block().parameters[3];
    EXPECT_FALSE(running.trained);
    const auto after = net.read(running.in(net.weights), 0);
    EXPECT_NE(after, std::vector<float>(4, 0.0F));
    EXPECT_EQ(net.read(running.in(net.gradients), 0), std::vector<float>(4, 0.0F));
    const Training now = net.training();
    net.model.forward(*net.stream, net.weights, net.input, nullptr);
    EXPECT_EQ(net.read(running.in(net.weights), 0), after);
    net.model.forward(*net.stream, net.weights, net.input, &now);
    EXPECT_NE(net.read(running.in(net.weights), 0), after);
}

TEST(Mlp, GhostBatchesAreEqualButForTheLast) {
    for (const auto& [batch, wanted, samples] : std::vector<std::array<std::int64_t, 3>>{{128, 128, 128},
                                                                                         {64, 128, 64},
                                                                                         {256, 128, 128},
                                                                                         {480, 128, 120},
                                                                                         {129, 128, 65},
                                                                                         {130, 3, 4},
                                                                                         {3, 2, 3},
                                                                                         {2, 2, 2},
                                                                                         {7, 2, 4},
                                                                                         {1000, 128, 125}}) {
        const std::int64_t found = ghost_batch_of(batch, wanted),
                           last = batch - (ghost_batches(batch, found) - 1) * found;
        EXPECT_EQ(found, samples) << batch << " by " << wanted;
        EXPECT_GE(2 * last, found);
        EXPECT_GT(last, 1);
    }
}

TEST(Mlp, PutsWeightMatricesFirstAndEachParameterAtAMultipleOf64Bytes) {
    for (const auto& shape : shapes) {
        const ParameterBlock block = Mlp(shape, {7, 3}).block();
        std::int64_t end = 0;
        for (const bool decayed : {true, false})
            for (const auto& parameter : block.parameters)
                if (parameter.decayed == decayed) {
                    EXPECT_EQ(parameter.decayed, parameter.shape.size() == 2);
                    EXPECT_EQ(parameter.first % 16, 0);
                    EXPECT_GE(parameter.first, end);
                    EXPECT_EQ(parameter.first < block.decayed, decayed);
                    end = parameter.first + parameter.elements();
                }
        EXPECT_GE(block.elements, end);
    }
}

TEST(Mlp, BeginsWithHeWeightsZeroBiasesAndZeroPadding) {
    MlpNet net({{17, 9}, Activation::relu, true}, 7, 3, 5, 1);
    const auto all = net.read(net.weights, 0);
    double outside = 0;
    for (const float w : all) outside += w != 0;
    for (const auto& parameter : net.model.block().parameters) {
        const auto values = net.read(parameter.in(net.weights), 0);
        if (parameter.decayed) {
            const double inputs = static_cast<double>(parameter.shape[1]);
            const double bound = std::sqrt((parameter.name == "layers.2.weight" ? 1 : 6) / inputs);
            float greatest = 0;
            for (const float w : values) greatest = std::max(greatest, std::abs(w));
            EXPECT_LE(greatest, bound * (1 + 1e-6));
            EXPECT_GT(greatest, bound * 0.8);
        } else {
            const float constant = parameter.name.ends_with("norm.weight") ? 1 : 0;
            for (const float b : values) EXPECT_EQ(b, constant);
        }
        for (const float w : values) outside -= w != 0;
    }
    EXPECT_EQ(outside, 0) << "weights in the padding";
}

TEST(Mlp, GradientsAgreeWithFiniteDifferencesOfTheWholeModel) {
    for (const auto& shape : shapes) {
        const int replicas = 3;  // replica 0 without dropout, the others with
        MlpNet net(shape, 7, 3, 6, replicas);
        net.pass(0, 6, Write::set);
        for (int replica = 0; replica < replicas; ++replica)
            for (const auto& parameter : net.model.block().parameters) {
                const auto gradient = net.read(parameter.in(net.gradients), replica);
                // Along a random direction, and along a few axes.
                for (int trial = 0; trial < 4; ++trial) {
                    std::vector<double> direction(gradient.size());
                    for (std::size_t i = 0; i < direction.size(); ++i)
                        direction[i] = trial == 0 ? draw_unit(3, Purpose::synthetic, i, 0) - 0.5
                                                  : i == static_cast<std::size_t>(trial * 7) % direction.size();
                    const Tensor weight = parameter.in(net.weights);
                    const auto start = net.read(weight, replica);
                    const auto loss_at = [&](double distance) {
                        auto moved = start;
                        for (std::size_t i = 0; i < moved.size(); ++i)
                            moved[i] += static_cast<float>(distance * direction[i]);
                        net.stream->write(weight, replica, std::span<const float>(moved));
                        net.pass(0, 6, Write::set, false);
                        return static_cast<double>(net.stream->read<float>(net.loss, replica));
                    };
                    const double h = 2e-3;
                    const double slope =
                        (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
                    net.stream->write(weight, replica, std::span<const float>(start));
                    double wanted = 0;
                    for (std::size_t i = 0; i < gradient.size(); ++i) wanted += gradient[i] * direction[i];
                    EXPECT_NEAR(wanted, slope, 2e-3 * (1 + std::abs(slope)))
                        << parameter.name << " of replica " << replica << ", " << shape.hidden.size()
                        << " hidden layers, activation " << static_cast<int>(shape.activation) << ", norm "
                        << shape.layer_norm;
                }
            }
    }
}

TEST(Mlp, AddsMicroBatchesUpToTheGradientOfTheWholeBatch) {
    for (const auto& shape : shapes) {
        MlpNet whole(shape, 7, 3, 6, 3), parts(shape, 7, 3, 6, 3);
        whole.pass(0, 6, Write::set);
        const std::int64_t first = shape.ghost_batch == 6 ? 6 : shape.ghost_batch == 3 ? 3 : 4;
        parts.pass(0, first, Write::set);
        if (first < 6) parts.pass(first, 6 - first, Write::add);
        for (int replica = 0; replica < 3; ++replica) {
            EXPECT_NEAR(whole.read(whole.loss, replica)[0], parts.read(parts.loss, replica)[0], 1e-6);
            const auto wanted = whole.read(whole.gradients, replica), got = parts.read(parts.gradients, replica);
            // A product with another number of rows may add in another order.
            for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 4e-6) << i;
        }
    }
}

TEST(Mlp, TrainsThreeReplicasToTheBitsOfThreeRunsAlone) {
    for (const auto& shape : shapes) {
        MlpNet together(shape, 7, 3, 6, 3);
        for (int step = 0; step < 20; ++step) together.step();
        for (int replica = 0; replica < 3; ++replica) {
            MlpNet alone(shape, 7, 3, 6, 1, replica);
            for (int step = 0; step < 20; ++step) alone.step();
            EXPECT_EQ(alone.read(alone.weights, 0), together.read(together.weights, replica));
            EXPECT_EQ(alone.read(alone.loss, 0), together.read(together.loss, replica));
        }
    }
}

TEST(Mlp, LearnsALittleProblemByHeart) {
    for (const auto& shape : shapes) {
        if (shape.hidden.empty()) continue;
        MlpNet net(shape, 7, 3, 6, 1);
        net.stream->write(net.smoothing, 0, 0.0F);
        net.step();
        const float before = net.read(net.loss, 0)[0];
        for (int step = 0; step < 200; ++step) net.step();
        EXPECT_LT(net.read(net.loss, 0)[0], before / 4);
    }
}

TEST(Mlp, EvaluatesWithoutDropoutAnyNumberOfRowsUpToThePlan) {
    MlpNet net({{17, 9}, Activation::gelu, true}, 7, 3, 6, 3);
    const auto all = net.model.forward(*net.stream, net.weights, net.input, nullptr);
    const auto logits = net.read(all, 2);
    const auto some = net.model.forward(*net.stream, net.weights, net.input.first_rows(4), nullptr);
    EXPECT_EQ(some.rows, 4);
    const auto first = net.read(some, 2);
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i], logits[i], 1e-6);
}

TEST(Mlp, StepsAllocateNothing) {
    if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has an allocator of its own";
    delete[] new char[100];
    EXPECT_GT(allocations(), 0) << "the count does not work";
    MlpNet net({{512, 256}, Activation::gelu, true}, 784, 10, 64, 2);
    const long before_first = allocations();
    net.step();
    const long before = allocations();
    for (int step = 0; step < 3; ++step) net.step();
    EXPECT_EQ(allocations(), before);
    RecordProperty("allocations of the first step", static_cast<int>(before - before_first));
}

TEST(Mlp, TakesOfTheArenaWhatItPlansAndNothingElse) {
    // The last byte of the plan is the model's: one row or one replica more must show in the bytes, exactly.
    const auto bytes = [](std::int64_t rows, int replicas) {
        Layout layout(replicas);
        Mlp({{32, 16}, Activation::relu, false}, {7, 10}).plan(layout, {.rows = rows});
        return layout.bytes();
    };
    // Outputs of 32, 16 and 10 columns, and two gradients of the widest hidden layer.
    EXPECT_EQ(bytes(16, 1), 16U * 4 * (32 + 16 + 10 + 2 * 32));
    EXPECT_EQ(bytes(16, 3), 3 * bytes(16, 1));
    MlpNet net({{32, 16}, Activation::relu, false}, 7, 10, 16, 1);
    EXPECT_EQ(net.arena->bytes(), net.layout.bytes());
    // With embeddings the numbers that the features become, their table, and gradients as wide as they are.
    Layout layout(3);
    Mlp({{16}, Activation::relu, false, 4, {{0, 60}}}, {88, 10}).plan(layout, {.rows = 16});
    EXPECT_EQ(layout.bytes(), 32U * 16 + 3 * 16U * 4 * (32 + 16 + 10 + 2 * 32));
}

}  // namespace
}  // namespace hpo::test
