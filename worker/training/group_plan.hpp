// The layout of a fused group's arena, and the division of its work into iterations. Pure: it follows from shapes
// alone, so that the answer to `plan` and the training agree to the byte.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/result.hpp"
#include "worker/backends/tensor.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/split.hpp"
#include "worker/models/model.hpp"
#include "worker/training/configuration.hpp"

namespace hpo {

/// The division of a trial's training into iterations. An epoch is floor(training samples / batch size) iterations: the
/// samples left over after the shuffle are not used in that epoch, so that every update has the same size. Evaluation
/// uses every sample.
struct Pace {
    std::int64_t iterations_per_epoch = 1;
    std::int64_t iterations_per_step = 1;
};
Pace pace_of(const TrainingConfig& training, std::int64_t training_samples);

/// Adjacent parameters that an optimizer updates at once, with a learning rate of their own under muP.
struct RateRun {
    std::size_t parameter = 0;  ///< the first of them, in ParameterBlock::parameters
    std::int64_t first = 0;     ///< elements [first, first + elements) of the block
    std::int64_t elements = 0;
    std::int64_t decayed = 0;  ///< the first `decayed` of these elements are subject to weight decay
    /// With Muon, for a hidden matrix: the index of its first part in Orthogonal::divisors.
    std::optional<std::int64_t> orthogonal;
};

/// Temporary tensors of Muon. L is the number of elements of the largest hidden matrix, S its shorter side.
struct Orthogonal {
    Tensor direction, part, product;  ///< [1, L]
    Tensor gram, squared;             ///< [1, S * S]
    Tensor norm, factor;              ///< [1, 1]
    Tensor divisors;                  ///< [1, parts of all hidden matrices]: of their updates
    Tensor zero, minus_one;           ///< numbers per replica
};

/// Returns the factor of a parameter's learning rate, by which its weight decay is divided (so that their product does
/// not depend on the width): 1 without muP; with it, by table 3 of Yang et al. 2022.
double rate_factor(const ParameterBlock& block, const Parameter& parameter, OptimizerKind optimizer);

/// The division of a group's work.
struct GroupPace {
    std::int64_t micro_batch = 0;          ///< samples of a micro-batch in training, at most
    std::int64_t micro_batches = 1;        ///< of an update; the last one has the remaining samples
    std::int64_t asked_micro_batches = 1;  ///< with `checkpointing: auto`, see plan_group
    std::int64_t rows = 0;                 ///< samples of the largest micro-batch; an evaluation uses this many
    Pace of_trial;                         ///< with the plan's own configuration
    /// Iterations whose rates and losses the arena holds: the largest window, after which the host reads them. The
    /// first window has `first_window` iterations (see next_window).
    std::int64_t window = 0;
    std::int64_t first_window = 0;
};

/// The tensors of each replica in the arena. P is the number of elements of the parameter block.
struct GroupArena {
    /// With staged data: the bytes (u8 [1, B]) of a replica's samples of a batch, or of a micro-batch of an evaluation,
    /// which contain the features ([rows, features], in the data's type) and the targets. One of the two is filled
    /// while the other is read.
    struct Staged {
        Tensor bytes, features, targets;
    };

    Tensor weights, gradient, first_moment, second_moment;  ///< [1, P]; the first moment is SGD's velocity
    Tensor average;                                         ///< [1, P], with TrainingConfig::ema: of the weights
    Orthogonal orthogonal;                                  ///< with Muon
    Tensor input, targets;      ///< [rows, features] of Model::input_type, [rows, target columns]
    Tensor learning_rates;      ///< [runs, window]
    Tensor weight_decay;        ///< [1, runs]
    Tensor losses, norms;       ///< [1, window]
    Tensor loss, norm, factor;  ///< [1, 1]
    Tensor correct;             ///< i32 [1, 1], of classes and labels
    Tensor class_weights;       ///< [1, classes], with training.class_weights
    Tensor absolute;            ///< [1, 1], of regression: the sum of absolute errors
    std::array<Staged, 2> staged;
    std::size_t bytes = 0;  ///< of the whole arena, with the numbers per replica and the memory of the model

    /// The weights that are evaluated and saved.
    [[nodiscard]] const Tensor& evaluated() const { return average ? average : weights; }
};

/// The numbers of replicas in the arena, one for each replica.
struct ReplicaNumbers {
    Tensor seed, iteration, alive, window_index;
    Gather::Fold fold;                 ///< with folds
    Tensor batch, batch_rows;          ///< samples, see Extent
    Tensor target_weight;              ///< 1 / (batch * targets of a sample), divided by the outputs but of classes
    Tensor by_adamw, by_sgd, by_lion;  ///< 1 for live replicas with this optimizer
    Tensor dropout, smoothing, no_smoothing, clip, beta1, beta2, epsilon, momentum;
    LossScale scaling;  ///< with float16 only
};

struct GroupPlan {
    std::unique_ptr<Model> model;
    Task task = Task::classification;
    TrainingConfig shared;  ///< settings that all replicas share: accumulation, nesterov, ema, precision, augmentation
                            ///< and memory target; and, unless they are padded, batch size and optimizer
    Fusion fusion = Fusion::identical;
    int folds = 1;     ///< of a trial, each of which is a replica
    int replicas = 1;  ///< of all trials
    int ranks = 1;     ///< processes that train together, each with an arena and host_bytes of its own
    Checkpointing checkpointing = Checkpointing::none;
    /// Replicas that all use AdamW without clipping update their weights in the backward pass where the device can: one
    /// micro-batch of few samples, no loss scaling, and a model that takes it.
    bool updates_in_backward = false;
    bool ranks_classes = false;  ///< evaluations keep all logits, for the area under the curve
    Augment augment;
    std::vector<RateRun> runs;  ///< of the whole block; one without muP

    GroupPace pace;
    GroupArena arena;
    ReplicaNumbers numbers;

    std::int64_t most_ahead = 0;  ///< batches that loader threads may hold, each of arena.staged[0] of all replicas
    /// Elements of one replica that a checkpoint holds: weights, moments, average, the state of loss scaling.
    std::int64_t state_elements = 0;
    double flops_per_step = 0;  ///< of the matrix products in training and in evaluation on the validation samples
    /// Host memory of a running group: for each replica a copy of its state on the way to a checkpoint, and the weights
    /// of its best step; two copies of staged samples, and those loaded ahead; two blocks where replicas are padded and
    /// unpadded.
    std::int64_t host_bytes = 0;

    /// Valid rows of a micro-batch for a replica with a batch of `samples`, which is at most the group's. They are the
    /// same fraction of its batch as pace.micro_batch is of the group's.
    [[nodiscard]] std::int64_t micro_batch_of(std::int64_t samples) const {
        return (samples * pace.micro_batch + shared.batch_size - 1) / shared.batch_size;
    }
};

/// Returns the iterations of the next window after one of `window` iterations that took `took`: twice as many after a
/// short one, at most `most`, and half as many after a long one. Reports do not depend on it.
std::int64_t next_window(std::int64_t window, Seconds took, std::int64_t most);

/// Rows of a micro-batch in training, by `accumulation` and the number of ranks.
constexpr std::int64_t configured_micro_batch(const TrainingConfig& training) {
    const std::int64_t parts = training.accumulation > training.ranks ? training.accumulation : training.ranks;
    return (training.batch_size + parts - 1) / parts;
}

/// Returns true if training.class_metrics reports the area under the curve for this data: one target per sample, and at
/// most ClassTally::most_ranked classes.
bool ranks_classes(const DataShape& shape);

/// Returns a line about the choice of `checkpointing: auto` and its price, for users; empty if something else is
/// configured.
std::string checkpointing_text(const GroupPlan& plan);

/// With `checkpointing: auto`, the configured micro-batches (TrainingConfig::accumulation and micro_batch) determine
/// the available memory: the memory that they take with all activations kept. Among all divisions that take no more,
/// the plan has the one with the least predicted time of an update: fewer activations, larger micro-batches, or both.
/// Micro-batches of one sample cannot be smaller: then the plan has the division with the least memory.
///
/// Plans `trials` trials, each with one replica per fold. The error names the key: the batch is larger than the
/// training split or makes fewer micro-batches than there are ranks, augmentation of samples that are no images, or
/// smoothed labels in regression. For padded replicas
/// `configuration` is the one of their bucket (fusion.hpp), whose batch may be larger than the split.
Result<GroupPlan> plan_group(const Configuration& configuration, const DataShape& shape, const SplitSizes& sizes,
                             int trials, Fusion fusion = Fusion::identical);

}  // namespace hpo
