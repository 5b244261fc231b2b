// Converts the flat parameters of a trial to a typed, checked configuration. Types, ranges, choices and defaults come
// from the table in worker_keys.hpp alone.
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/result.hpp"
#include "hpo/value.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/dataset.hpp"
#include "worker/models/model.hpp"
#include "worker/training/class_weights.hpp"

namespace hpo {

enum class ScheduleKind { constant, cosine, one_cycle, step, wsd, plateau };
enum class OptimizerKind { adamw, sgd, lion, muon };
/// Returns true if the optimizer keeps two moments of each weight.
constexpr bool has_two_moments(OptimizerKind kind) {
    return kind == OptimizerKind::adamw || kind == OptimizerKind::muon;
}

/// The `training` section, with the defaults of the table once read_configuration has filled it.
struct TrainingConfig {
    std::int64_t batch_size = 1;  ///< 0: the configuration has none, see set_batch_size
    std::int64_t accumulation = 1;
    std::int64_t ranks = 1;  ///< processes that train together, each with a micro-batch at least
    OptimizerKind optimizer = OptimizerKind::adamw;
    double lr = 0;
    double weight_decay = 0;
    double momentum = 0;
    bool nesterov = false;
    double beta1 = 0;
    double beta2 = 0;
    double epsilon = 0;
    ScheduleKind schedule = ScheduleKind::constant;
    double warmup = 0;             ///< epochs
    double lr_decay = 0.1;         ///< of step and plateau
    double lr_decay_every = 0;     ///< of step: epochs; 0: a third of the budget
    std::int64_t lr_patience = 0;  ///< of plateau: steps
    double cooldown = 0.2;         ///< of wsd: fraction of the budget
    double ema = 0;                ///< decay of the average of the weights; 0: there is none
    double dropout = 0;            ///< of the model; may differ between replicas
    double label_smoothing = 0;
    ClassWeights class_weights;
    double clip = 0;                                  ///< 0: off
    std::int64_t eval_every = 0;                      ///< iterations of a step; 0: an epoch
    double memory_target = 0;                         ///< 0: micro-batches stay as configured
    std::int64_t part_bytes = std::int64_t{1} << 19;  ///< of the device, see Device::part_bytes
    std::int64_t backward_updates = 0;                ///< of the device, see Tuning
    std::int64_t micro_batch = 0;  ///< rows of a micro-batch while memory is short; 0: by accumulation
    Precision precision = Precision::float32;
    Checkpointing checkpointing = Checkpointing::none;
    bool automatic_checkpointing = false;  ///< `auto`: see plan_group
    /// Rows at which a matrix product on the device reaches half of its full speed.
    double rows_at_half_speed = 16;
    std::int64_t augment_shift = 0;  ///< pixels
    bool augment_flip = false;
    bool class_metrics = false;
    int loader_threads = -1;          ///< of staged data; -1: as measured, see batch_loader.hpp
    int prefetch = -1;                ///< batches ahead; -1: two for each thread
    bool measured_precision = false;  ///< `auto`: precision.hpp resolves it; until then float32
};

struct Configuration {
    DataConfig data;
    TrainingConfig training;
    std::optional<std::uint64_t> seed;  ///< of the trial, if the configuration names one
    Params all;  ///< every key with its value, defaults filled in, and the model's keys normalised (see ModelKind)
};

std::string to_text(Precision precision);

/// Fails with the key and its allowed values.
Result<Configuration> read_configuration(const Params& given);

/// Chooses the batch size by the number of training samples if the configuration has none. Fails if that is less than
/// the number of micro-batches.
Result<void> set_batch_size(Configuration& configuration, const SplitSizes& sizes);

}  // namespace hpo
