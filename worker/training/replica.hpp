// One model of a fused group, as the parts of the trainer know it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "worker/training/class_tally.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/health.hpp"
#include "worker/training/schedule.hpp"

namespace hpo {

/// The specification of a replica. Its `training` may differ from that of others except in the settings of
/// GroupPlan::shared.
struct ReplicaSpec {
    TrainingConfig training;
    std::uint64_t seed = 0;
    /// The model without padding, for padded replicas. It must outlive the trainer. The replica's state is read and
    /// written in this model's layout.
    const Model* model = nullptr;
    int fold = 0;  ///< the fold whose training samples it uses
};

/// The seed of a fold's model. Folds begin with different weights and draw differently, so that their mean is one over
/// these, too.
constexpr std::uint64_t seed_of_fold(std::uint64_t seed, int fold) {
    return seed + static_cast<std::uint64_t>(fold) * 0x9E3779B97F4A7C15U;
}

/// Training figures of a replica's last step.
struct ReplicaStep {
    double loss = 0;  ///< mean over the step's iterations, with label smoothing
    GradientNorms norms;
    double learning_rate = 0;       ///< of the last iteration
    std::int64_t diverged_at = -1;  ///< first iteration (from 0) with a loss that is not finite; -1: none
};

/// The progress of a replica between two iterations, without its state.
struct ReplicaProgress {
    std::int64_t iteration = 0;  ///< updates done
    LossWindow window;
    std::int64_t in_step = 0;  ///< updates done in the present step; 0 between two steps
    ReplicaStep sums;          ///< over these updates
    double seconds = 0;        ///< of these updates
};

struct Evaluation {
    double loss = 0;      ///< mean cross-entropy, without label smoothing and weights of classes; or mean squared error
    double accuracy = 0;  ///< of classes and labels: fraction of 1
    double absolute = 0;  ///< of regression: mean absolute error
    std::optional<ClassTally::Metrics> of_classes;  ///< of classes and labels, if TrainingConfig::class_metrics
};

/// Called before each iteration and each micro-batch of an evaluation; false ends the work at once.
using ShouldContinue = std::function<bool()>;

struct Replica {
    ReplicaSpec spec;
    Pace pace;
    Schedule schedule;
    double rate_scale = 1;
    std::vector<double> rate_factors;  ///< of each of GroupPlan::runs
    bool alive = true;
    ReplicaProgress progress;
    ReplicaStep step;
    double step_seconds = 0;
    Evaluation evaluation;

    /// Returns true between two steps.
    [[nodiscard]] bool at_end() const { return progress.in_step == 0; }
};

}  // namespace hpo
