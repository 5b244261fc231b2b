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

/// How a trial's training is cut. An epoch is floor(training samples / batch size) iterations: the samples left over
/// after the shuffle are not trained on in that epoch, so that every update has the same size. Evaluation visits every
/// sample.
struct Pace {
    std::int64_t iterations_per_epoch = 1;
    std::int64_t iterations_per_step = 1;
};
Pace pace_of(const TrainingConfig& training, std::int64_t training_samples);

struct GroupPlan {
    std::unique_ptr<Model> model;
    TrainingConfig shared;  ///< what all lanes have in common: accumulation, nesterov, precision, augmentation and
                            ///< memory target; and, unless they are padded to it: batch size, optimizer
    Lanes kind = Lanes::alike;
    int lanes = 1;
    std::int64_t micro_batch = 0;  ///< rows of one pass in training, at most
    std::int64_t passes = 1;       ///< of an update; the last has what is left
    std::int64_t rows = 0;         ///< of the largest pass; evaluation uses so many
    Pace pace;                     ///< of a trial of the plan's own configuration
    std::int64_t window = 0;       ///< iterations whose rates and losses the arena holds: the host looks that often

    Tensor weights, gradient, first_moment, second_moment;  ///< [1, P]; the first moment is SGD's velocity
    Tensor input, labels;                                   ///< [rows, features], i32 [rows, 1]
    Tensor learning_rates, losses, norms;                   ///< [1, window]
    Tensor loss, norm, factor, correct;                     ///< [1, 1]
    // Lane arrays.
    Tensor seed, iteration, alive, slot;
    Tensor batch, batch_rows, sample_weight;  ///< see Pass; 1 / batch
    Tensor by_adamw, by_sgd;                  ///< of lanes that are alive: whose optimizer it is
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
    /// best step, for each lane; two copies of what is staged; and two blocks where lanes are padded and unpadded.
    std::int64_t host_bytes = 0;

    /// Rows of a pass that are a lane's with a batch of `samples`, at most `shared`'s: as large a part of it as
    /// micro_batch is.
    [[nodiscard]] std::int64_t micro_batch_of(std::int64_t samples) const {
        return (samples * micro_batch + shared.batch_size - 1) / shared.batch_size;
    }
};

/// Rows of one pass in training, as accumulation has it.
constexpr std::int64_t configured_micro_batch(const TrainingConfig& training) {
    return (training.batch_size + training.accumulation - 1) / training.accumulation;
}

/// Fails with the key's name when the batch is larger than the training split, and on augmentation of no images. For
/// padded lanes `configuration` is their bucket (bucket.hpp), whose batch may be larger than that.
Result<GroupPlan> plan_group(const Configuration& configuration, const DataShape& shape, const SplitSizes& sizes,
                             int lanes, Lanes kind = Lanes::alike);

}  // namespace hpo
