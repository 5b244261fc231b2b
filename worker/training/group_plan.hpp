// Where everything of a group of lanes lies in its arena, and how its work is cut into iterations: pure, from shapes
// alone, so that the answer to `plan` and what runs are the same to the byte.
#pragma once

#include <cstdint>
#include <memory>

#include "hpo/result.hpp"
#include "worker/backends/tensor.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/split.hpp"
#include "worker/models/model.hpp"
#include "worker/training/configuration.hpp"

namespace hpo {

/// An epoch is floor(training samples / batch size) iterations: the samples left over after the shuffle are not trained
/// on in that epoch, so that every update has the same size. Evaluation visits every sample.
struct GroupPlan {
    std::unique_ptr<Model> model;
    TrainingConfig shared;  ///< what all lanes have in common: batch size, accumulation, optimizer, nesterov,
                            ///< precision, eval_every
    int lanes = 1;
    std::int64_t micro_batch = 0;           ///< rows of one pass in training; the last of an update has what is left
    std::int64_t rows = 0;                  ///< of the largest pass; evaluation uses so many
    std::int64_t iterations_per_epoch = 0;  ///< at least 1
    std::int64_t iterations_per_step = 0;
    std::int64_t window = 0;  ///< iterations whose rates and losses the arena holds: the host looks that often

    Tensor weights, gradient, first_moment, second_moment;  ///< [1, P]; the first moment is SGD's velocity
    Tensor input, labels;                                   ///< [rows, features], i32 [rows, 1]
    Tensor learning_rates, losses, norms;                   ///< [1, window]
    Tensor loss, norm, factor, correct;                     ///< [1, 1]
    // Lane arrays.
    Tensor seed, iteration, alive, slot;
    Tensor weight_decay, dropout, smoothing, no_smoothing, clip, beta1, beta2, epsilon, momentum;
    LossScale scaling;  ///< in float16
    Augment augment;

    /// With staged data: u8 [1, B], a lane's samples of a batch or of a pass of an evaluation, and where in it the
    /// features ([rows, features], as the data has them) and the labels (i32 [rows, 1]) lie.
    Tensor staged, staged_features, staged_labels;

    std::size_t arena_bytes = 0;
    std::int64_t state_elements =
        0;                      ///< of a lane, what a checkpoint holds: weights, moments, the state of the loss's scale
    double flops_per_step = 0;  ///< matrix products: training, and evaluation on the validation samples

    /// What a running group keeps on the host: a copy of the state on its way to a checkpoint and the weights of the
    /// best step, for each lane; and two copies of what is staged.
    std::int64_t host_bytes = 0;
};

/// Rows of one pass in training, as accumulation has it.
constexpr std::int64_t configured_micro_batch(const TrainingConfig& training) {
    return (training.batch_size + training.accumulation - 1) / training.accumulation;
}

/// Fails with the key's name when the batch is larger than the training split, and on augmentation of no images.
Result<GroupPlan> plan_group(const Configuration& configuration, const DataShape& shape, const SplitSizes& sizes,
                             int lanes);

}  // namespace hpo
