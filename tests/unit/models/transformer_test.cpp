#include "worker/models/transformer.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/unit/models/net.hpp"
#include "worker/models/registry.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using Positions = TransformerShape::Positions;

constexpr std::int64_t vocabulary = 5;

TransformerShape token_shape() {
    return {.steps = 7,
            .vocabulary = vocabulary,
            .depth = 2,
            .width = 12,
            .heads = 3,
            .kv_heads = 3,
            .hidden = 20,
            .causal = true};
}
TransformerShape window_shape() {
    TransformerShape shape = token_shape();
    shape.vocabulary = 0;
    shape.features = 3;
    shape.causal = false;
    return shape;
}

struct Kind {
    const char* name;
    TransformerShape shape;
    std::int64_t outputs, targets;
};

std::vector<Kind> kinds() {
    TransformerShape modern = token_shape();  // as Llama has it
    modern.heads = 6;
    modern.kv_heads = 2;
    modern.gated = modern.rms = true;
    modern.positions = Positions::rotary;
    TransformerShape tied = token_shape();
    tied.tied = true;
    TransformerShape bare = window_shape();
    bare.positions = Positions::none;
    bare.activation = Activation::silu;
    bare.depth = 1;
    TransformerShape labelled = token_shape();
    labelled.causal = false;
    return {{"tokens", token_shape(), vocabulary, 7},
            {"modern", modern, vocabulary, 7},
            {"tied", tied, vocabulary, 7},
            {"window", window_shape(), 3, 1},
            {"bare", bare, 4, 7},
            {"labelled tokens", labelled, 3, 1}};
}

struct TransformerNet : Net {
    TransformerNet(const Kind& kind, std::int64_t rows, int replicas, int first = 0,
                   Checkpointing checkpointing = Checkpointing::none)
        : Net(std::make_unique<Transformer>(kind.shape, kind.outputs, kind.targets), rows, replicas, first, 1 << 19,
              checkpointing) {
        if (kind.shape.vocabulary == 0) return;
        for (int replica = 0; replica < replicas; ++replica) {
            std::vector<float> tokens(static_cast<std::size_t>(input.elements()));
            for (std::size_t i = 0; i < tokens.size(); ++i)
                tokens[i] = static_cast<float>(
                    draw_block(5, Purpose::synthetic, static_cast<std::uint64_t>(first + replica), i)[0] % vocabulary);
            stream->write(input, replica, std::span<const float>(tokens));
        }
    }

    /// Draws scales and shifts too.
    void randomise() {
        for (const Parameter& parameter : model.block().parameters)
            stream->enqueue(
                Initialise{parameter.in(weights), 0.5F, seed, 77U + static_cast<std::uint32_t>(parameter.first)});
    }
};

TEST(Transformer, HasThePublishedLayersUnderTheirNames) {
    const Transformer model(
        {.steps = 60, .vocabulary = 96, .depth = 2, .width = 128, .heads = 4, .kv_heads = 2, .hidden = 512}, 96, 60);
    std::map<std::string, std::vector<std::int64_t>> named;
    for (const Parameter& parameter : model.block().parameters) named[parameter.name] = parameter.shape;
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(named.at("tokens.weight"), (Sizes{96, 128}));
    EXPECT_EQ(named.at("positions.weight"), (Sizes{60, 128}));
    EXPECT_EQ(named.at("blocks.0.attention_norm.bias"), (Sizes{128}));
    EXPECT_EQ(named.at("blocks.1.projections.weight"), (Sizes{256, 128}));
    EXPECT_EQ(named.at("blocks.1.mixing.weight"), (Sizes{128, 128}));
    EXPECT_EQ(named.at("blocks.1.up.weight"), (Sizes{512, 128}));
    EXPECT_EQ(named.at("blocks.1.down.weight"), (Sizes{128, 512}));
    EXPECT_EQ(named.at("norm.weight"), (Sizes{128}));
    EXPECT_EQ(named.at("head.weight"), (Sizes{96, 128}));
    const std::int64_t block = 128 * (256 + 128 + 2 * 512);
    EXPECT_EQ(model.block().count(), (96 + 60) * 128 + 2 * (block + 4 * 128) + 2 * 128 + 96 * 129);
    EXPECT_EQ(model.forward_flops(), 2.0 * 60 * (2 * (block + 2 * 60 * 128) + 128 * 96));
}

TEST(Transformer, OfSwiGluAndRmsNormHasThoseAloneAndATiedHeadHasNoWeights) {
    const auto names_of = [](const TransformerShape& shape) {
        std::map<std::string, std::vector<std::int64_t>> named;
        const Transformer model(shape, vocabulary, shape.steps);
        for (const Parameter& parameter : model.block().parameters) named[parameter.name] = parameter.shape;
        return named;
    };
    const std::vector<Kind> all = kinds();
    const auto modern = names_of(all[1].shape), tied = names_of(all[2].shape);
    EXPECT_EQ(modern.at("blocks.0.up.weight"), (std::vector<std::int64_t>{40, 12}));
    EXPECT_FALSE(modern.contains("blocks.0.attention_norm.bias"));
    EXPECT_FALSE(modern.contains("positions.weight"));
    EXPECT_FALSE(tied.contains("head.weight"));
    EXPECT_FALSE(tied.contains("head.bias"));
}

TEST(Transformer, GradientsAgreeWithFiniteDifferences) {
    for (const Kind& kind : kinds()) {
        TransformerNet net(kind, 4, 2);
        net.randomise();
        for (int replica = 0; replica < 2; ++replica) {
            net.pass(0, 4, Write::set);
            for (const Parameter& parameter : net.model.block().parameters) {
                const Tensor weight = parameter.in(net.weights);
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

TEST(Transformer, AddsMicroBatchesUpToTheGradientOfTheWholeBatch) {
    for (const Kind& kind : kinds()) {
        TransformerNet whole(kind, 6, 2), parts(kind, 6, 2);
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

TEST(Transformer, TrainsThreeReplicasToTheBitsOfThreeRunsAlone) {
    for (const Kind& kind : kinds()) {
        TransformerNet together(kind, 6, 3);
        for (int step = 0; step < 5; ++step) together.step();
        for (int replica = 0; replica < 3; ++replica) {
            TransformerNet alone(kind, 6, 1, replica);
            for (int step = 0; step < 5; ++step) alone.step();
            EXPECT_EQ(alone.read(alone.weights, 0), together.read(together.weights, replica)) << kind.name;
        }
    }
}

TEST(Transformer, LearnsALittleProblemByHeart) {
    for (const Kind& kind : kinds()) {
        if (kind.shape.positions == Positions::none) continue;  // cannot tell the steps of equal samples apart
        TransformerNet net(kind, 6, 1);
        net.stream->write(net.smoothing, 0, 0.0F);
        net.step();
        const float before = net.read(net.loss, 0)[0];
        for (int step = 0; step < 200; ++step) net.step();
        EXPECT_LT(net.read(net.loss, 0)[0], before / 2) << kind.name;
    }
}

TEST(Transformer, ACausalOneDoesNotSeeLaterTokens) {
    for (const Kind& kind : {kinds()[0], kinds()[1]}) {
        TransformerNet net(kind, 2, 1);
        net.randomise();
        const auto outputs = [&] {
            return net.read(net.model.forward(*net.stream, net.weights, net.input, nullptr), 0);
        };
        const auto before = outputs();
        auto tokens = net.read(net.input, 0);
        tokens[4] = tokens[4] == 0 ? 1.0F : 0.0F;  // of the first sample's seven
        net.stream->write(net.input, 0, std::span<const float>(tokens));
        const auto after = outputs();
        for (std::size_t i = 0; i < before.size(); ++i) {
            const std::size_t step = i / vocabulary;
            if (step < 4 || step >= 7) {
                EXPECT_EQ(after[i], before[i]) << kind.name << " step " << step;
            } else if (i % vocabulary == 0) {
                EXPECT_NE(after[i], before[i]) << kind.name << " step " << step;
            }
        }
    }
}

TEST(Transformer, TakesOfTheArenaTheSameForEachReplica) {
    const auto bytes = [](int replicas) {
        Layout layout(replicas);
        Transformer(token_shape(), vocabulary, 7).plan(layout, {.rows = 16});
        return layout.bytes();
    };
    EXPECT_EQ(bytes(3), 3 * bytes(1));
}

TEST(Transformer, ThatComputesBlocksAgainTrainsToTheSameBitsInLessMemory) {
    for (Kind kind : kinds()) {
        kind.shape.depth = 5;
        std::vector<float> wanted;
        std::size_t bytes = 0;
        double flops = 0;
        for (const Checkpointing checkpointing :
             {Checkpointing::none, Checkpointing::alternate, Checkpointing::every}) {
            TransformerNet net(kind, 6, 1, 1, checkpointing);  // the second replica has dropout
            for (int step = 0; step < 4; ++step) net.step();
            const auto weights = net.read(net.weights, 0);
            if (wanted.empty()) {
                wanted = weights;
            } else {
                EXPECT_LT(net.layout.bytes(), bytes) << kind.name;
                EXPECT_GT(net.model.backward_flops(), flops) << kind.name;
            }
            EXPECT_EQ(weights, wanted) << kind.name;
            bytes = net.layout.bytes();
            flops = net.model.backward_flops();
        }
    }
}

TEST(Transformer, NamesTheMemoryOfItsParts) {
    for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
        Layout layout(2);
        Transformer model(token_shape(), vocabulary, 7);
        model.plan(layout, {.rows = 16, .precision = precision});
        std::size_t sum = 0;
        for (const MemoryPart& part : model.memory_parts()) sum += part.bytes;
        EXPECT_EQ(sum, layout.bytes());
        EXPECT_EQ(model.memory_parts().size(), precision == Precision::float32 ? 4U : 5U);
    }
}

TEST(Transformer, RefusesWhatItCannotTrainAndNamesTheKey) {
    const DataShape tokens{.train = 10,
                           .test = 5,
                           .sample = TokenShape{16, 9},
                           .outputs = 9,
                           .standardised = true,
                           .target_per_step = true};
    const DataShape window{.train = 10, .test = 5, .sample = SequenceShape{16, 3}, .outputs = 4};
    const auto error_of = [](const Params& changes, const DataShape& shape) {
        Params params{{"type", std::string("transformer")}};
        for (const auto& [name, value] : changes) params[name] = value;
        const auto model = make_model(params, shape);
        return model ? "" : model.error().message;
    };
    const auto whole = [](std::int64_t number) { return Value{number}; };
    const auto text = [](const char* word) { return Value{std::string(word)}; };
    EXPECT_EQ(error_of({}, tokens), "");
    EXPECT_EQ(error_of({}, window), "");
    EXPECT_EQ(error_of({{"causal", true}}, window), "");
    EXPECT_EQ(error_of({{"activation", text("swiglu")},
                        {"norm", text("rms")},
                        {"positions", text("rotary")},
                        {"kv_heads", whole(2)},
                        {"tied_embeddings", true},
                        {"depth", whole(0)}},
                       tokens),
              "");
    EXPECT_THAT(error_of({}, {.sample = VectorShape{32}, .outputs = 3}),
                Mentions("model.type: transformer", "sequences"));
    EXPECT_EQ(error_of({{"heads", whole(3)}}, tokens), "model.width: 256 is not a multiple of model.heads (3)");
    EXPECT_EQ(error_of({{"kv_heads", whole(3)}}, tokens), "model.heads: 4 is not a multiple of model.kv_heads (3)");
    EXPECT_THAT(error_of({{"heads", whole(1)}}, tokens),
                MentionsInOrder("model.heads: ", "1 heads", "256", "model.width", "at most 128", "more"));
    EXPECT_THAT(error_of({{"norm", text("none")}}, tokens), Mentions("model.norm:", "transformer"));
    EXPECT_THAT(error_of({{"width", whole(12)}, {"positions", text("rotary")}}, tokens),
                Mentions("model.positions", "3"));
    EXPECT_THAT(error_of({{"causal", false}}, tokens), HasSubstr("model.causal:"));
    EXPECT_THAT(error_of({{"tied_embeddings", true}}, window), HasSubstr("model.tied_embeddings"));
    EXPECT_THAT(error_of({{"mlp_ratio", 0.0}}, tokens), Mentions("model.mlp_ratio: 0.0"));
    EXPECT_THAT(error_of({{"type", text("mlp")}}, tokens), Mentions("model.type: mlp", "numbers"));
    EXPECT_THAT(error_of({{"type", text("mlp")}, {"activation", text("swiglu")}}, window),
                Mentions("model.activation: swiglu", "type: transformer"));
    EXPECT_THAT(error_of({{"type", text("mlp")}, {"norm", text("rms")}}, window),
                Mentions("model.norm: rms", "type: transformer"));
}

}  // namespace
}  // namespace hpo::test
