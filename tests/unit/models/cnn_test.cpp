#include "worker/models/cnn.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/unit/models/net.hpp"
#include "worker/backends/cpu/architecture.hpp"
#include "worker/backends/cpu/cpu_stream.hpp"
#include "worker/models/registry.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::test {
namespace {

CnnShape shape_of(Activation activation, std::int64_t stages = 2, std::int64_t blocks = 1,
                  std::int64_t ghost_batch = 0) {
    return {.image = {5, 6, 2},
            .channels = 4,
            .stages = stages,
            .blocks = blocks,
            .groups = 2,
            .activation = activation,
            .ghost_batch = ghost_batch};
}
/// Images of 5 x 6 pixels become such of 3 x 3 and 2 x 2.
CnnShape pooled_shape() {
    CnnShape shape = shape_of(Activation::gelu, 3);
    shape.max_pooling = true;
    return shape;
}
const CnnShape cnn_shapes[] = {shape_of(Activation::relu),          shape_of(Activation::gelu),
                               shape_of(Activation::silu, 1, 2),    shape_of(Activation::gelu, 3, 2),
                               shape_of(Activation::silu, 2, 1, 2), pooled_shape()};

struct CnnNet : Net {
    CnnNet(const CnnShape& shape, std::int64_t rows, int replicas, int first = 0, std::int64_t part_bytes = 1 << 19)
        : Net(std::make_unique<Cnn>(shape, 3), rows, replicas, first, part_bytes) {}

    /// Draws scales and shifts too.
    void randomise() {
        for (const Parameter& parameter : model.block().parameters)
            stream->enqueue(
                Initialise{parameter.in(weights), 0.5F, seed, 77U + static_cast<std::uint32_t>(parameter.first)});
    }
};

TEST(Cnn, HasThePublishedLayersUnderTheirNames) {
    const Cnn model({.image = {28, 28, 1}, .channels = 16, .stages = 2, .blocks = 1, .groups = 8}, 10);
    std::map<std::string, std::vector<std::int64_t>> named;
    for (const Parameter& parameter : model.block().parameters) named[parameter.name] = parameter.shape;
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(named.at("stem.weight"), (Sizes{16, 3, 3, 1}));
    EXPECT_EQ(named.at("stages.0.0.first.weight"), (Sizes{16, 3, 3, 16}));
    EXPECT_EQ(named.at("stages.1.0.first.weight"), (Sizes{32, 3, 3, 16}));
    EXPECT_EQ(named.at("stages.1.0.second.weight"), (Sizes{32, 3, 3, 32}));
    EXPECT_EQ(named.at("stages.1.0.second.norm.bias"), (Sizes{32}));
    EXPECT_EQ(named.at("stages.1.0.shortcut.weight"), (Sizes{32, 1, 1, 16}));
    EXPECT_EQ(named.at("head.weight"), (Sizes{10, 32}));
    EXPECT_FALSE(named.contains("stages.0.0.shortcut.weight"));
    // 144 + 2 * 2304 + 4608 + 9216 + 512 weights of convolutions, 2 * (3 * 16 + 2 * 32) of norms, 330 of the head.
    EXPECT_EQ(model.block().count(), 144 + 2 * 2304 + 4608 + 9216 + 512 + 2 * (3 * 16 + 2 * 32) + 330);
    // Multiplications and additions, by pixels of 28 x 28 and 14 x 14.
    EXPECT_EQ(model.forward_flops(), 2.0 * (784 * (144 + 2 * 2304) + 196 * (4608 + 9216 + 512) + 320));
    EXPECT_EQ(model.backward_flops(), 2 * model.forward_flops() - 2.0 * 784 * 144);
}

TEST(Cnn, MaxPoolingLeavesTheSizesOfStagesAndTheParametersAsTheyAre) {
    const CnnShape strided = shape_of(Activation::gelu, 3);
    const Cnn model(strided, 3), pooled(pooled_shape(), 3);
    EXPECT_EQ(pooled.block().count(), model.block().count());
    EXPECT_EQ(pooled.forward_flops(), model.forward_flops());
}

TEST(Cnn, GradientsAgreeWithFiniteDifferences) {
    for (const auto& shape : cnn_shapes) {
        CnnNet net(shape, 4, 2);
        net.randomise();
        for (int replica = 0; replica < 2; ++replica) {
            net.pass(0, 4, Write::set);
            for (const Parameter& parameter : net.model.block().parameters) {
                if (!parameter.trained) continue;
                const Tensor weight = parameter.in(net.weights);
                const auto gradient = net.read(parameter.in(net.gradients), replica);
                const auto start = net.read(weight, replica);
                // Along the gradient the slope is largest, and rounding least.
                double norm = 0;
                for (const float g : gradient) norm += double{g} * g;
                norm = std::sqrt(norm);
                ASSERT_GT(norm, 1e-6) << parameter.name;
                const auto loss_at = [&](double distance) {
                    auto moved = start;
                    for (std::size_t i = 0; i < moved.size(); ++i)
                        moved[i] += static_cast<float>(distance * gradient[i] / norm);
                    net.stream->write(weight, replica, std::span<const float>(moved));
                    net.pass(0, 4, Write::set, false);
                    return double{net.read(net.loss, replica)[0]};
                };
                const bool kinks = shape.activation == Activation::relu || shape.max_pooling;  // these bend the line
                const double h = kinks ? 2e-4 : 3e-3;
                const double slope = (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
                net.stream->write(weight, replica, std::span<const float>(start));
                EXPECT_NEAR(norm, slope, (kinks ? 3e-2 : 3e-3) * (0.1 + norm))
                    << parameter.name << " of replica " << replica << ", activation "
                    << static_cast<int>(shape.activation);
            }
        }
    }
}

/// A stream like those of devices without convolutions.
struct UnfoldingStream : CpuStream {
    using CpuStream::CpuStream;
    [[nodiscard]] bool convolves() const override { return false; }
};

TEST(Cnn, AddsMicroBatchesAndPartsUpToTheGradientOfTheWholeBatch) {
    for (const auto& shape : cnn_shapes) {
        ThreadPool threads;
        CnnNet whole(shape, 6, 2), parts(shape, 6, 2, 0, 1);  // one sample's patches at a time
        parts.stream = std::make_unique<UnfoldingStream>(*cpu_levels().back().kernels, threads,
                                                         static_cast<CpuBuffer&>(*parts.arena), 2);
        whole.randomise();
        parts.randomise();
        whole.pass(0, 6, Write::set);
        parts.pass(0, 4, Write::set);
        parts.pass(4, 2, Write::add);
        for (int replica = 0; replica < 2; ++replica) {
            EXPECT_NEAR(whole.read(whole.loss, replica)[0], parts.read(parts.loss, replica)[0], 1e-5);
            const auto wanted = whole.read(whole.gradients, replica), got = parts.read(parts.gradients, replica);
            for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5) << i;
        }
    }
}

TEST(Cnn, TrainsThreeReplicasToTheBitsOfThreeRunsAlone) {
    for (const auto& shape : cnn_shapes) {
        CnnNet together(shape, 6, 3);
        for (int step = 0; step < 5; ++step) together.step();
        for (int replica = 0; replica < 3; ++replica) {
            CnnNet alone(shape, 6, 1, replica);
            for (int step = 0; step < 5; ++step) alone.step();
            EXPECT_EQ(alone.read(alone.weights, 0), together.read(together.weights, replica));
        }
    }
}

TEST(Cnn, LearnsALittleProblemByHeart) {
    for (const auto& shape : cnn_shapes) {
        CnnNet net(shape, 6, 1);
        net.stream->write(net.smoothing, 0, 0.0F);
        net.step();
        const float before = net.read(net.loss, 0)[0];
        for (int step = 0; step < 200; ++step) net.step();
        EXPECT_LT(net.read(net.loss, 0)[0], before / 4);
    }
}

TEST(Cnn, TakesOfTheArenaTheSameForEachReplica) {
    const auto bytes = [](int replicas) {
        Layout layout(replicas);
        Cnn(shape_of(Activation::gelu), 3).plan(layout, {.rows = 16});
        return layout.bytes();
    };
    EXPECT_EQ(bytes(3), 3 * bytes(1));
}

TEST(Cnn, RefusesWhatItCannotTrainAndNamesTheKey) {
    const DataShape images{.train = 10, .test = 5, .sample = ImageShape{8, 4, 1}, .outputs = 3};
    const auto error_of = [](const Params& changes, const DataShape& shape) {
        Params params{{"type", std::string("cnn")}};
        for (const auto& [name, value] : changes) params[name] = value;
        const auto model = make_model(params, shape);
        return model ? "" : model.error().message;
    };
    EXPECT_EQ(error_of({}, images), "");
    EXPECT_THAT(error_of({}, {.sample = VectorShape{32}, .outputs = 3}), Mentions("model.type: cnn", "images"));
    EXPECT_EQ(error_of({{"channels", std::int64_t{20}}, {"norm", std::string("batch")}}, images), "");
    EXPECT_THAT(error_of({{"norm", std::string("layer")}}, images),
                MentionsInOrder("model.norm: layer", "not for", "type: cnn", "group", "batch"));
    EXPECT_EQ(error_of({{"channels", std::int64_t{20}}}, images),
              "model.channels: 20 is not a multiple of model.groups (8)");
    EXPECT_THAT(error_of({{"stages", std::int64_t{4}}}, images), Mentions("model.stages: 4", "8 x 4"));
    EXPECT_THAT(error_of({{"blocks", std::int64_t{0}}}, images), Mentions("model.blocks: 0", "whole"));
}

}  // namespace
}  // namespace hpo::test
