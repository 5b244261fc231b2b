// The interface of all models: which parameters a model has, where they lie in memory, and its forward and backward
// pass as operations of a stream. A model knows no backend and no optimizer. The replicas of a group have the model's
// own shape, or smaller ones of the same structure that are padded to it; a replica's own model then tells which part
// is valid.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/value.hpp"
#include "worker/backends/backend.hpp"

namespace hpo {

/// The sides of a parameter that follow the model's width. `vector`: biases and norms of hidden units; `input`: from
/// the data to hidden units; `hidden`: between hidden units; `output`: from hidden units to the model's outputs;
/// `fixed`: no side does.
enum class Place : std::uint8_t { fixed, vector, input, hidden, output };

/// One named tensor inside the parameter block.
struct Parameter {
    std::string name;  ///< as state dictionaries have it: layers.0.weight
    /// Weights of linear layers: [out, in]; of convolutions: [out, height, width, in].
    std::vector<std::int64_t> shape;
    std::int64_t first = 0;  ///< element of the block where it begins
    bool decayed = false;    ///< weight matrices
    float bound = 0;         ///< initial: uniform in [-bound, bound); 0: the constant below
    float constant = 0;
    Place place = Place::fixed;
    std::int64_t width = 0;  ///< hidden units that it begins with (hidden, output) or ends in (input, vector)
    bool trained = true;     ///< or a statistic that the forward pass updates, whose gradient is 0
    /// Rows of each matrix if several lie one below the other, such as those of queries, keys and values; empty: it is
    /// one matrix.
    std::vector<std::int64_t> stacked{};

    [[nodiscard]] std::int64_t elements() const;
    [[nodiscard]] std::int64_t rows() const { return shape.size() > 1 ? shape[0] : 1; }
    /// This parameter in `block`, a tensor of [1, ParameterBlock::elements]: weights, gradients or moments.
    [[nodiscard]] Tensor in(const Tensor& block) const;
};

/// All parameters of a replica in one contiguous block, those subject to weight decay first. Each begins at a multiple
/// of 64 bytes; the padding between them is 0 and stays 0.
struct ParameterBlock {
    std::vector<Parameter> parameters;  ///< in the network's order
    std::int64_t elements = 0;          ///< with padding
    std::int64_t decayed = 0;           ///< elements [0, decayed) are subject to weight decay
    /// The width at which muP (Yang et al., "Tensor Programs V", 2022) is the standard parametrization; 0: no muP.
    std::int64_t base_width = 0;

    /// Times as wide as in the base model, with muP; otherwise 1.
    [[nodiscard]] double width_factor(const Parameter& parameter) const;
    [[nodiscard]] std::int64_t count() const;  ///< trainable numbers, without padding
};

/// Copy between a block and one that it is padded to, which has the same parameters, none smaller in any extent. The
/// padding becomes 0.
void pad_block(const ParameterBlock& unpadded, std::span<const float> from, const ParameterBlock& padded,
               std::span<float> to);
void unpad_block(const ParameterBlock& padded, std::span<const float> from, const ParameterBlock& unpadded,
                 std::span<float> to);

/// An update of the weights within the backward pass (LinearBackward::adamw): of all weights that are subject to decay.
struct UpdateInBackward {
    AdamW adamw;   ///< of the whole block; its gradient and factor are not used
    Tensor roots;  ///< [1, Model::gradient_parts()] written
};

/// Tensors of dropout in training, see Dropout in operations.hpp.
struct Training {
    Tensor dropout;    ///< one number per replica: probability
    Tensor seed;       ///< u64 per replica
    Tensor iteration;  ///< u32 per replica
    Extent extent;
    const UpdateInBackward* update = nullptr;  ///< none: all gradients are written
};

/// The kind of replicas in a group: all with the same shape, or padded, with different extents and activations.
enum class Fusion : std::uint8_t { identical, padded };

/// The inputs and outputs of a model for each sample.
struct ModelShape {
    std::int64_t features = 0;
    std::int64_t outputs = 0;  ///< of each target
    std::int64_t targets = 1;  ///< see DataShape::targets
};

/// The blocks of a model that keep no activations for the backward pass, which computes them again, to the same bits
/// (Chen et al., "Training deep nets with sublinear memory cost", 2016): none, every second one, or every one.
enum class Checkpointing : std::uint8_t { none, alternate, every };

/// The settings other than its shape that determine a model's memory.
struct ModelPlan {
    std::int64_t rows = 1;  ///< samples of a micro-batch, at most
    Precision precision = Precision::float32;
    Fusion fusion = Fusion::identical;
    std::int64_t part_bytes = std::int64_t{1} << 19;    ///< of temporary memory for one part, see Device::part_bytes
    Checkpointing checkpointing = Checkpointing::none;  ///< of models with blocks; others ignore it
    std::int64_t batch = 1;                             ///< samples of an update: of all its micro-batches
};

/// The memory of the parts of an arena.
struct MemoryPart {
    std::string_view name;
    std::size_t bytes = 0;  ///< of all replicas
};

class Model {
   public:
    virtual ~Model() = default;

    [[nodiscard]] const ParameterBlock& block() const { return block_; }
    [[nodiscard]] std::int64_t features() const { return shape_.features; }
    [[nodiscard]] std::int64_t outputs() const { return shape_.outputs; }  ///< logits of classes, or predictions
    /// Rows of outputs for each sample: 1, or one for each step of a sequence.
    [[nodiscard]] std::int64_t targets() const { return shape_.targets; }

    /// Floating-point operations of the matrix products for one sample.
    [[nodiscard]] virtual double forward_flops() const = 0;
    [[nodiscard]] virtual double backward_flops() const = 0;

    /// Returns the number of samples in a training batch that depend on each other. The size of each micro-batch but
    /// the last is a multiple of this number.
    [[nodiscard]] virtual std::int64_t indivisible(std::int64_t /*batch*/) const { return 1; }

    /// Lays out memory. Must be called once, before forward and backward. A model that replicas are padded to must have
    /// the activation that stores the most, which is not relu.
    virtual void plan(Layout& layout, const ModelPlan& plan) = 0;
    /// Writes the constants that `plan` laid out. Must be called once before the first forward.
    virtual void write_constants(Stream& /*stream*/) const {}
    /// Returns remarks about the model for users, once memory is planned.
    [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
    /// Returns the memory of the model's parts for users, after `plan`; empty if it has none worth a name.
    [[nodiscard]] virtual std::vector<MemoryPart> memory_parts() const { return {}; }
    /// For padded replicas: writes which part of replica `replica` is valid when its own model is `model`.
    virtual void set_replica_model(Stream& stream, int replica, const Model& model) const = 0;

    /// Draws `weights` [1, P] from the replicas' seeds (u64 per replica), and sets the padding to 0.
    void initialise(Stream& stream, const Tensor& weights, const Tensor& seed) const;

    /// The outputs [B * targets, outputs] for `input` [B, features], B at most the planned rows. `training` null:
    /// evaluation, without dropout. They hold until the next forward, and may be overwritten by their gradient.
    virtual Tensor forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) = 0;

    /// Must follow a training `forward` with the same arguments. Computes `gradients` [1, P] from the gradient of the
    /// outputs, by `write`. It does not touch the padding, which must be zeroed once before the first step.
    virtual void backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                          const Tensor& output_gradient, const Training& training, Write write) = 0;
    /// Returns the form in which the forward pass takes features; known after `plan`.
    [[nodiscard]] virtual Type input_type() const { return Type::f32; }
    /// Returns, in precisions of 16 bits, the weights of products, rounded, [1, ParameterBlock::decayed]. The passes
    /// read these; code that changes the weights must keep the rounded ones equal (Update::rounded, Round).
    [[nodiscard]] const Tensor& rounded_weights() const { return rounded_weights_; }
    /// Numbers of UpdateInBackward::roots; 0: `backward` does not take an update. At most ParameterBlock::decayed.
    [[nodiscard]] virtual std::int64_t gradient_parts() const { return 0; }

   protected:
    explicit Model(const ModelShape& shape) : shape_(shape) {}

    void plan_rounded_weights(Layout& layout, Precision precision);
    /// The weights of a product, for parameter `index` of `block_`.
    [[nodiscard]] Tensor operand(int index, const Tensor& weights) const;
    /// Returns the operand of a product for `of`: `to` (at least as large), into which it is rounded, or `of` itself.
    static Tensor operand(Stream& stream, const Tensor& of, const Tensor& to);

    ParameterBlock block_;
    Tensor rounded_weights_;

   private:
    ModelShape shape_;
};

/// Places `parameters` (in network order, `first` not yet set) in one block, the decayed ones first. With a base width,
/// the weights to the outputs begin smaller, as muP wants it (table 3 of the paper, which needs no multipliers of
/// outputs).
ParameterBlock place_parameters(std::vector<Parameter> parameters, std::int64_t base_width = 0);

}  // namespace hpo
