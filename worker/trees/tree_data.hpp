// A data set as trees are grown on: matrices of XGBoost and targets, in the host's memory. A worker keeps it from trial
// to trial.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "worker/data/device_data.hpp"
#include "worker/training/class_weights.hpp"
#include "worker/training/configuration.hpp"
#include "worker/trees/xgboost.hpp"

namespace hpo {

/// Samples of one part of a fold.
struct TreeSamples {
    std::optional<TreeMatrix> matrix;  ///< none: the part has no samples
    std::vector<float> targets;        ///< [rows, ensembles]: classes, labels of 0 and 1, or numbers

    [[nodiscard]] std::int64_t rows() const { return matrix ? matrix->rows() : 0; }
};

struct TreeFold {
    TreeSamples train, validation, test;
};

struct TreeData {
    /// The facts of the data. Its buffers are empty: the matrices hold the samples.
    std::unique_ptr<DeviceData> facts;
    ClassWeights class_weights;  ///< of the training samples
    std::vector<TreeFold> folds;

    /// Returns true if it is the data of a trial.
    [[nodiscard]] bool is_of(const Configuration& configuration, std::uint64_t data_seed) const;
};

/// The ensembles of a trial: one for all classes, or one for each number or label.
constexpr std::int64_t ensembles_of(const DataShape& shape) {
    return shape.task == Task::classification ? 1 : shape.outputs;
}

/// Returns the data of a trial of trees, which is read to the host for every device.
DataConfig tree_data_config(DataConfig data);

/// Fails if trees cannot be grown on these samples: a sequence with a target for each step. Names the cure.
Result<void> check_tree_data(const DataConfig& config, const DataShape& shape);

/// Loads the data. `progress` is as for load_to_device. Throws InvalidTrial.
TreeData load_tree_data(Device& device, const Configuration& configuration, std::uint64_t data_seed, int threads,
                        const std::function<void()>& progress);

}  // namespace hpo
