// The weights of a target's classes in the training loss.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

/// The key training.class_weights.
struct ClassWeights {
    bool balanced = false;
    std::vector<double> given;  ///< for each class or label; empty: none

    [[nodiscard]] bool any() const { return balanced || !given.empty(); }
    friend bool operator==(const ClassWeights&, const ClassWeights&) = default;
};

/// "none", "balanced", or a number of at least 0 for each class, with commas between them. Errors name the key.
Result<ClassWeights> parse_class_weights(const std::string& text);

/// Fails if the weights do not suit the data: they need classes or labels, and a number for each.
Result<void> check_class_weights(const ClassWeights& weights, const DataShape& shape);

/// Returns the weights of the classes or labels. `counts` has the targets of each class in the training split, or the
/// samples with each label; `targets` is the number of all targets.
///
/// Weights of classes are scaled so that their mean over the targets is 1, and the loss keeps its size. Balanced, a
/// class counts in inverse proportion to its targets (King and Zeng 2001). The weight of a label multiplies the loss of
/// samples that have it; balanced, it is the ratio of the targets without it to those with it. A class that no target
/// has, and a label that none or all have, has the weight 1 when balanced.
std::vector<float> class_weights_of(const ClassWeights& weights, Task task, std::span<const std::int64_t> counts,
                                    std::int64_t targets);

}  // namespace hpo
