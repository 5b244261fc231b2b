// Computes the outputs of a saved model, batch by batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/backends/backend.hpp"
#include "worker/prediction/saved_model.hpp"

namespace hpo {

class Predictor {
   public:
    /// Both must outlive it. Computes in float32, also for a model that was trained in another precision, and trees on
    /// the host. Throws DeviceFull.
    Predictor(Device& device, const SavedModel& saved);

    /// Samples of a batch, at most.
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    /// The outputs [count * targets, outputs] for features [count, features], which are scaled by SavedModel::mean and
    /// deviation here: logits, or standardized predictions. They hold until the next call. count: 1 to rows().
    std::span<const float> outputs(std::span<const float> features);

   private:
    void open_network(Device& device);

    const SavedModel& saved_;
    std::int64_t rows_;
    Tensor weights_, input_;
    std::unique_ptr<Buffer> arena_;
    std::unique_ptr<Stream> stream_;
    std::vector<float> scaled_, outputs_;
};

}  // namespace hpo
