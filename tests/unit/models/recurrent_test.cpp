#include "worker/models/recurrent.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/support/mentions.hpp"
#include "tests/unit/models/net.hpp"
#include "worker/models/registry.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using Cell = RecurrentShape::Cell;

struct RecurrentKind {
    const char* name;
    RecurrentShape shape;
    std::int64_t outputs, targets;
};

std::vector<RecurrentKind> recurrent_kinds() {
    std::vector<RecurrentKind> all;
    for (const Cell cell : {Cell::gru, Cell::lstm}) {
        const RecurrentShape tokens{.cell = cell, .steps = 6, .vocabulary = 5, .depth = 2, .width = 9};
        const RecurrentShape windows{.cell = cell, .steps = 6, .features = 3, .depth = 1, .width = 7};
        all.push_back({"tokens", tokens, 5, 6});
        all.push_back({"labelled tokens", tokens, 3, 1});
        all.push_back({"window", windows, 3, 1});
        all.push_back({"numbers of steps", windows, 4, 6});
    }
    return all;
}

struct RecurrentNet : Net {
    RecurrentNet(const RecurrentKind& kind, std::int64_t rows, int replicas, int first = 0)
        : Net(std::make_unique<Recurrent>(kind.shape, kind.outputs, kind.targets), rows, replicas, first) {
        if (kind.shape.vocabulary == 0) return;
        for (int replica = 0; replica < replicas; ++replica) {
            std::vector<float> tokens(static_cast<std::size_t>(input.elements()));
            for (std::size_t i = 0; i < tokens.size(); ++i)
                tokens[i] = static_cast<float>(
                    draw_block(5, Purpose::synthetic, static_cast<std::uint64_t>(first + replica), i)[0] % 5);
            stream->write(input, replica, std::span<const float>(tokens));
        }
    }

    /// Draws biases too.
    void randomise() {
        for (const Parameter& parameter : model.block().parameters)
            stream->enqueue(
                Initialise{parameter.in(weights), 0.7F, seed, 77U + static_cast<std::uint32_t>(parameter.first)});
    }
};

TEST(Recurrent, HasThePublishedLayersUnderTheirNames) {
    const Recurrent gru({.cell = Cell::gru, .steps = 60, .features = 8, .depth = 2, .width = 128}, 1, 1);
    const Recurrent lstm({.cell = Cell::lstm, .steps = 60, .vocabulary = 96, .depth = 1, .width = 128}, 96, 60);
    // As torch.nn.GRU(8, 128, 2) and torch.nn.LSTM(128, 128) with one of its two biases.
    EXPECT_EQ(gru.block().count(), 3 * 128 * (8 + 128 + 2) + 3 * 128 * (128 + 128 + 2) + 129);
    EXPECT_EQ(lstm.block().count(), 96 * 128 + 4 * 128 * (128 + 128 + 1) + 96 * 129);
    std::map<std::string, std::vector<std::int64_t>> named;
    for (const Parameter& parameter : gru.block().parameters) named[parameter.name] = parameter.shape;
    EXPECT_EQ(named.at("layers.0.weight"), (std::vector<std::int64_t>{384, 8}));
    EXPECT_EQ(named.at("layers.1.recurrent.weight"), (std::vector<std::int64_t>{384, 128}));
    EXPECT_EQ(named.at("layers.1.recurrent.bias"), (std::vector<std::int64_t>{384}));
    EXPECT_EQ(gru.forward_flops(), 2.0 * (60 * 384 * (8 + 128 + 128 + 128) + 128));
}

TEST(Recurrent, GradientsAgreeWithFiniteDifferences) {
    for (const RecurrentKind& kind : recurrent_kinds()) {
        RecurrentNet net(kind, 4, 2);
        net.randomise();
        for (int replica = 0; replica < 2; ++replica) {
            net.pass(0, 4, Write::set);
            for (const Parameter& parameter : net.model.block().parameters) {
                const Tensor weight = parameter.in(net.weights);
                net.pass(0, 4, Write::set);
                const auto gradient = net.read(parameter.in(net.gradients), replica);
                const auto start = net.read(weight, replica);
                double norm = 0;  // along the gradient the slope is largest, and rounding least
                for (const float g : gradient) norm += double{g} * g;
                norm = std::sqrt(norm);
                ASSERT_GT(norm, 1e-6) << kind.name << " " << parameter.name;
                const auto loss_at = [&](double distance) {
                    auto moved = start;
                    for (std::size_t i = 0; i < moved.size(); ++i)
                        moved[i] += static_cast<float>(distance * gradient[i] / norm);
                    net.stream->write(weight, replica, std::span<const float>(moved));
                    net.pass(0, 4, Write::set, false);
                    return double{net.read(net.loss, replica)[0]};
                };
                const double h = 3e-3;
                const double slope = (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
                net.stream->write(weight, replica, std::span<const float>(start));
                EXPECT_NEAR(norm, slope, 3e-3 * (0.1 + norm))
                    << kind.name << ": " << parameter.name << " of replica " << replica;
            }
        }
    }
}

TEST(Recurrent, AddsMicroBatchesUpToTheGradientOfTheWholeBatch) {
    for (const RecurrentKind& kind : recurrent_kinds()) {
        RecurrentNet whole(kind, 6, 2), parts(kind, 6, 2);
        whole.pass(0, 6, Write::set);
        parts.pass(0, 4, Write::set);
        parts.pass(4, 2, Write::add);
        for (int replica = 0; replica < 2; ++replica) {
            EXPECT_NEAR(whole.read(whole.loss, replica)[0], parts.read(parts.loss, replica)[0], 1e-5);
            const auto wanted = whole.read(whole.gradients, replica), got = parts.read(parts.gradients, replica);
            for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5) << kind.name << i;
        }
    }
}

TEST(Recurrent, TrainsThreeReplicasToTheBitsOfThreeRunsAlone) {
    for (const RecurrentKind& kind : recurrent_kinds()) {
        RecurrentNet together(kind, 6, 3);
        for (int step = 0; step < 5; ++step) together.step();
        for (int replica = 0; replica < 3; ++replica) {
            RecurrentNet alone(kind, 6, 1, replica);
            for (int step = 0; step < 5; ++step) alone.step();
            EXPECT_EQ(alone.read(alone.weights, 0), together.read(together.weights, replica)) << kind.name;
        }
    }
}

TEST(Recurrent, LearnsALittleProblemByHeart) {
    for (const RecurrentKind& kind : recurrent_kinds()) {
        RecurrentNet net(kind, 6, 1);
        net.stream->write(net.smoothing, 0, 0.0F);
        net.step();
        const float before = net.read(net.loss, 0)[0];
        for (int step = 0; step < 300; ++step) net.step();
        EXPECT_LT(net.read(net.loss, 0)[0], before / 2) << kind.name;
    }
}

TEST(Recurrent, DoesNotSeeLaterTokens) {
    for (const RecurrentKind& kind : {recurrent_kinds()[0], recurrent_kinds()[4]}) {
        RecurrentNet net(kind, 2, 1);
        net.randomise();
        const auto outputs = [&] {
            return net.read(net.model.forward(*net.stream, net.weights, net.input, nullptr), 0);
        };
        const auto before = outputs();
        auto tokens = net.read(net.input, 0);
        tokens[3] = tokens[3] == 0 ? 1.0F : 0.0F;  // of the first sample's six
        net.stream->write(net.input, 0, std::span<const float>(tokens));
        const auto after = outputs();
        for (std::size_t i = 0; i < before.size(); ++i) {
            const std::size_t step = i / 5;
            if (step < 3 || step >= 6) {
                EXPECT_EQ(after[i], before[i]) << "step " << step;
            } else if (i % 5 == 0) {
                EXPECT_NE(after[i], before[i]) << "step " << step;
            }
        }
    }
}

TEST(Recurrent, NamesTheMemoryOfItsParts) {
    for (const Precision precision : {Precision::float32, Precision::bfloat16})
        for (const RecurrentKind& kind : recurrent_kinds()) {
            Layout layout(2);
            Recurrent model(kind.shape, kind.outputs, kind.targets);
            model.plan(layout, {.rows = 16, .precision = precision});
            std::size_t sum = 0;
            for (const MemoryPart& part : model.memory_parts()) sum += part.bytes;
            EXPECT_EQ(sum, layout.bytes());
        }
}

TEST(Recurrent, RefusesWhatItCannotTrainAndNamesTheKey) {
    const DataShape window{.train = 10, .test = 5, .sample = SequenceShape{16, 3}, .outputs = 4};
    for (const char* type : {"gru", "lstm"}) {
        const Params params{{"type", std::string(type)}};
        EXPECT_TRUE(make_model(params, window));
        EXPECT_THAT(make_model(params, {.sample = VectorShape{32}, .outputs = 3}).error().message,
                    Mentions("model.type: " + std::string(type), "sequences"));
        Params flat = params;
        flat["depth"] = std::int64_t{0};
        EXPECT_THAT(make_model(flat, window).error().message, HasSubstr("model.depth: " + std::string(type)));
    }
}

}  // namespace
}  // namespace hpo::test
