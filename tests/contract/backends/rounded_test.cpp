// A tensor of 16 bits that an operation writes has the same bits as `round` applied to the f32 result.
#include <optional>

#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

std::uint32_t mixed_activation(int replica) {
    constexpr Activation all[] = {Activation::relu, Activation::silu, Activation::gelu};
    return static_cast<std::uint32_t>(all[replica]);
}

/// A layer whose output and gradient are f32, and the same layer where they are of 16 bits.
struct LayerTwice {
    Activation activation;
    Tensor bias, activations;
    Dropout dropout;
    struct One {
        Tensor pre, output, mask, gradient, bias_gradient;
    } wide, narrow;
    Tensor incoming, rounded_output, rounded_gradient;

    /// `activation` none: each replica has its own.
    LayerTwice(Harness& harness, const Shape& shape, std::optional<Activation> of, bool drops, Type type)
        : activation(of.value_or(Activation::none)), bias(harness.random(1, shape.columns)) {
        if (!of) activations = harness.per_replica<std::uint32_t>(mixed_activation);
        for (One* one : {&wide, &narrow}) {
            one->pre = harness.random(shape.rows, shape.columns, -3, 3);
            one->mask = harness.integers<std::uint8_t>(shape.rows, shape.columns, [](int, std::int64_t) { return 7; });
            one->bias_gradient = harness.output(1, shape.columns);
        }
        incoming = harness.random(shape.rows, shape.columns);
        wide.output = harness.output(shape.rows, shape.columns);
        wide.gradient = harness.output(shape.rows, shape.columns);
        for (Tensor* tensor : {&narrow.output, &narrow.gradient, &rounded_output, &rounded_gradient})
            *tensor = harness.rounded(shape.rows, shape.columns, type);
        if (!drops) return;
        dropout.probability =
            harness.per_replica<float>([](int replica) { return 0.25F * static_cast<float>(replica); });
        dropout.seed =
            harness.per_replica<std::uint64_t>([](int replica) { return 5U + static_cast<unsigned>(replica); });
        dropout.iteration = harness.per_replica<std::uint32_t>([](int) { return 9U; });
        dropout.site = 2;
    }

    void compute(Stream& stream, One& one) const {
        Dropout its = dropout;
        its.mask = one.mask;
        stream.enqueue(Activate{.activation = activation,
                                .pre = one.pre,
                                .bias = bias,
                                .output = one.output,
                                .dropout = its,
                                .activations = activations});
        // Relu's backward needs the output in f32.
        stream.enqueue(ActivateBackward{.activation = activation,
                                        .gradient = one.gradient,
                                        .pre = one.pre,
                                        .output = one.output.type == Type::f32 ? one.output : one.pre,
                                        .bias_gradient = one.bias_gradient,
                                        .dropout = its,
                                        .activations = activations,
                                        .incoming = incoming});
    }
};

void expect_rounded_activations(const Shape& shape, std::optional<Activation> activation, bool drops,
                                Precision precision) {
    fused_and_alone([&](Harness& harness) {
        LayerTwice layer(harness, shape, activation, drops, operand_type(precision));
        harness.start();
        if (!harness.device().computes_in(precision)) return;
        Stream& stream = harness.stream();
        stream.enqueue(Copy{layer.wide.pre, layer.narrow.pre});
        std::vector<std::vector<std::byte>> up;
        for (int k = 0; k < harness.replicas(); ++k) up.push_back(harness.bytes(layer.incoming, k));
        layer.compute(stream, layer.wide);
        layer.compute(stream, layer.narrow);
        stream.enqueue(Round{layer.wide.output, layer.rounded_output});
        stream.enqueue(Round{layer.wide.gradient, layer.rounded_gradient});
        for (int k = 0; k < harness.replicas(); ++k) {
            const auto bytes = [&](const Tensor& tensor) { return harness.bytes(tensor, k); };
            EXPECT_EQ(bytes(layer.narrow.output), bytes(layer.rounded_output));
            EXPECT_EQ(bytes(layer.narrow.gradient), bytes(layer.rounded_gradient));
            EXPECT_EQ(bytes(layer.narrow.bias_gradient), bytes(layer.wide.bias_gradient));
            EXPECT_EQ(bytes(layer.narrow.mask), bytes(layer.wide.mask));
            EXPECT_EQ(bytes(layer.incoming), up[number(k)]);
            const bool relu = activation ? *activation == Activation::relu
                                         : mixed_activation(harness.value_index_of(k)) ==
                                               static_cast<std::uint32_t>(Activation::relu);
            EXPECT_EQ(bytes(layer.narrow.pre), bytes(relu ? layer.wide.output : layer.wide.pre));
        }
    });
}

TEST(Rounded, ActivationsAndTheirGradientsAreThoseInFloat32Rounded) {
    const std::optional<Activation> all[] = {
        Activation::none, Activation::relu, Activation::gelu, Activation::silu, {}};
    for (const Precision precision : {Precision::bfloat16, Precision::float16})
        for (const Shape& shape : {Shape{1, 1}, Shape{7, 17}, Shape{70, 130}, Shape{1, 5000}})
            for (const auto& activation : all)  // of the first replica nothing is dropped
                expect_rounded_activations(shape, activation, shape.columns > 1, precision);
}

}  // namespace
}  // namespace hpo::test
