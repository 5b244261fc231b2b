// Batch normalisation in a model: the parameters and the memory of each layer that has it, and the ghost batches over
// which statistics are taken. The running mean and variance are parameters without a gradient: no optimizer moves them,
// and they are saved, resumed and averaged as weights are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/models/model.hpp"

namespace hpo {

/// Returns the samples of a ghost batch of a batch: about `wanted`. All ghost batches have this size except the last,
/// which has at least half of it and more than one sample.
std::int64_t ghost_batch_of(std::int64_t batch, std::int64_t wanted);

struct BatchNormLayer {
    int scale = -1, shift = -1, running_mean = -1, running_variance = -1;  ///< indices into the block's parameters
    std::int64_t rows_per_sample = 1;
    Tensor mean, rstd;  ///< [ghost batches, columns]
};

class BatchNorms {
   public:
    /// `wanted`: see ghost_batch_of; 0: the model has none.
    explicit BatchNorms(std::int64_t wanted = 0) : wanted_(wanted) {}
    explicit operator bool() const { return wanted_ > 0; }
    /// Returns the ghost batch of a batch of training.
    [[nodiscard]] std::int64_t ghost_batch(std::int64_t batch) const { return ghost_batch_of(batch, wanted_); }
    /// For people, once memory is planned.
    [[nodiscard]] std::string remark() const;

    /// Adds the parameters NAME.weight, NAME.bias, NAME.running_mean and NAME.running_var.
    [[nodiscard]] BatchNormLayer add_layer(const std::string& name, std::int64_t columns, std::int64_t rows_per_sample,
                                           std::vector<Parameter>& parameters) const;
    /// Lays out the memory of a layer, and after the last layer the memory that all share.
    void plan_layer(Layout& layout, const ModelPlan& plan, std::int64_t columns, BatchNormLayer& layer);
    void plan_workspace(Layout& layout);

    void forward(Stream& stream, const BatchNormLayer& layer, const ParameterBlock& block, const Tensor& weights,
                 const Tensor& input, const Tensor& output, const Training* training) const;
    /// Turns the `gradient` of the output into the gradient of the input.
    void backward(Stream& stream, const BatchNormLayer& layer, const ParameterBlock& block, const Tensor& weights,
                  const Tensor& gradients, const Tensor& input, const Tensor& gradient, Write write) const;

   private:
    std::int64_t wanted_;
    std::int64_t batch_ = 0, ghost_ = 0;  ///< samples
    std::int64_t most_parts_ = 0;         ///< numbers
    Tensor parts_;                        ///< [1, most_parts_]
};

}  // namespace hpo
