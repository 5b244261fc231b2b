// Finds the classes that are trained on: a split can leave all samples of a class to the other parts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/split.hpp"

namespace hpo {

/// The classes of data that is to be split.
struct ClassedSamples {
    std::span<const std::int32_t> classes;  ///< of each sample that is divided
    std::int64_t count = 0;                 ///< of classes
    std::function<std::string(std::size_t)> name_of;
    const char* sample = "row";
    SplitKind split = SplitKind::random;
};

/// Refuses a split whose training part has one class alone. The error begins with the key that makes the split, and
/// tells the cure.
Result<void> check_trained_classes(const DataConfig& config, const ClassedSamples& samples,
                                   std::span<const RowUse> uses);

/// Warns of classes without training samples, in all folds, where the split is the same with every seed: by time or by
/// group. Else the text is empty. `split_of` divides the samples by a configuration. The error is that of
/// check_trained_classes.
Result<std::string> untrained_classes(const DataConfig& config, const ClassedSamples& samples,
                                      const std::function<Result<RowSplit>(const DataConfig&)>& split_of);

}  // namespace hpo
