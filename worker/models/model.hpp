// The seam of all models: what a model keeps (parameters, by name), where it lies in memory, and its two passes as
// operations of a stream. A model knows no backend and no optimizer. All lanes of a group share its shape, or have
// smaller ones of the same structure, padded to it: a lane's own model then says what of it is the lane's.
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

/// One named tensor inside the parameter block.
struct Parameter {
    std::string name;                 ///< as state dictionaries have it: layers.0.weight
    std::vector<std::int64_t> shape;  ///< weights of linear layers: [out, in]
    std::int64_t first = 0;           ///< element of the block where it begins
    bool decayed = false;             ///< weight matrices
    float bound = 0;                  ///< initial: uniform in [-bound, bound); 0: the constant below
    float constant = 0;

    [[nodiscard]] std::int64_t elements() const;
    /// This parameter in `block`, a tensor of [1, ParameterBlock::elements]: weights, gradients or moments.
    [[nodiscard]] Tensor in(const Tensor& block) const;
};

/// All parameters of a lane in one contiguous block, the decayed ones first. Each begins at a multiple of 64 bytes; the
/// padding between them is 0 and stays 0.
struct ParameterBlock {
    std::vector<Parameter> parameters;  ///< in the network's order
    std::int64_t elements = 0;          ///< with padding
    std::int64_t decayed = 0;           ///< elements [0, decayed) are subject to weight decay

    [[nodiscard]] std::int64_t count() const;  ///< trainable numbers, without padding
};

/// Between a lane's own block and one that the lane is padded to: the same parameters, none smaller in any extent. What
/// is padding becomes 0.
void pad_block(const ParameterBlock& own, std::span<const float> from, const ParameterBlock& padded,
               std::span<float> to);
void unpad_block(const ParameterBlock& padded, std::span<const float> from, const ParameterBlock& own,
                 std::span<float> to);

/// What dropout needs of a training pass, see Dropout in backend.hpp.
struct Training {
    Tensor dropout;    ///< lane array: probability
    Tensor seed;       ///< lane array u64
    Tensor iteration;  ///< lane array u32
    Pass pass;
};

/// Whether all lanes of a group are alike, or may be padded ones of different extents and activations.
enum class Lanes : std::uint8_t { alike, padded };

class Model {
   public:
    virtual ~Model() = default;

    [[nodiscard]] const ParameterBlock& block() const { return block_; }
    [[nodiscard]] std::int64_t features() const { return features_; }
    [[nodiscard]] std::int64_t classes() const { return classes_; }

    /// Floating-point operations of the matrix products for one sample.
    [[nodiscard]] virtual double forward_flops() const = 0;
    [[nodiscard]] virtual double backward_flops() const = 0;

    /// Takes memory for passes of up to `rows` samples, whose matrix products are of `precision`. Call once, before any
    /// pass. A model that lanes are padded to has the activation that keeps the most: not relu.
    virtual void plan(Layout& layout, std::int64_t rows, Precision precision, Lanes lanes) = 0;
    /// Of padded lanes: lane `lane` is one of `own` from now on.
    virtual void adopt(Stream& stream, int lane, const Model& own) const = 0;

    /// Sets `weights` [1, P] for the lanes' seeds (lane array u64); padding to 0.
    void initialise(Stream& stream, const Tensor& weights, const Tensor& seed) const;

    /// Logits [B, classes] for `input` [B, features], B at most the planned rows. `training` null: evaluation, without
    /// dropout. What it returns and keeps stands until the next pass; the logits may be overwritten by their gradient.
    virtual Tensor forward(Stream& stream, const Tensor& weights, const Tensor& input, const Training* training) = 0;

    /// After a training `forward` of the same arguments: from the gradient of the logits to `gradients` [1, P], written
    /// or added to. Padding is left alone: zero it once before the first step.
    virtual void backward(Stream& stream, const Tensor& weights, const Tensor& gradients, const Tensor& input,
                          const Tensor& logits_gradient, const Training& training, Write write) = 0;

   protected:
    Model(std::int64_t features, std::int64_t classes) : features_(features), classes_(classes) {}

    ParameterBlock block_;

   private:
    std::int64_t features_;
    std::int64_t classes_;
};

/// Places `parameters` (in network order, `first` not yet set) in one block, the decayed ones first.
ParameterBlock place_parameters(std::vector<Parameter> parameters);

/// The model `params` describe (the leaf keys of section `model` in worker_keys.hpp; an absent one has its default) for
/// samples of `features` numbers and `classes` classes. Fails on a value out of its range.
Result<std::unique_ptr<Model>> make_model(const Params& params, std::int64_t features, std::int64_t classes);

}  // namespace hpo
