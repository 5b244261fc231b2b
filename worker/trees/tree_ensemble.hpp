// Boosted trees as arrays: all that predicting needs. Pure, and without XGBoost.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/training/safetensors.hpp"

namespace hpo {

/// A node of a tree. The children of an inner node are `left` and `left + 1`, both behind it.
struct TreeNode {
    std::int32_t feature = -1;  ///< -1: a leaf
    float value = 0;            ///< a sample goes left if its feature is below this; of a leaf: the number to add
    std::int32_t left = 0;      ///< index within the tree
};

struct BoostedTree {
    std::int32_t output = 0;  ///< to which its leaf is added
    std::vector<TreeNode> nodes;
};

struct TreeEnsemble {
    std::int64_t features = 0;
    std::vector<float> base;  ///< of each output, to which the trees add
    std::vector<BoostedTree> trees;

    /// Writes the outputs [rows, base.size()] of features [rows, features]: logits, or standardised predictions. A
    /// feature that is NaN goes right.
    void predict(std::span<const float> rows, std::span<float> outputs) const;

    // A safetensors file holds `trees.base` [outputs], `trees.trees` [trees, 2]: the nodes of each and its output, and
    // `trees.nodes` [nodes, 3]: feature, value, left.
    /// The tensors hold their values in `storage`.
    [[nodiscard]] std::vector<NamedTensor> tensors(std::vector<std::vector<float>>& storage) const;
    /// Errors name the flaw: a tensor that is missing or of another shape, a child before its parent or outside of the
    /// tree, a feature or an output that is not there.
    static Result<TreeEnsemble> from_tensors(const std::map<std::string, StoredTensor, std::less<>>& tensors,
                                             std::int64_t features, std::int64_t outputs);
};

/// Appends the trees of the first `rounds` rounds of an ensemble as XGBoost writes it in JSON. The trees of the
/// ensemble's only group add to output `output`; those of several groups to the outputs from `output` on. Errors name
/// the flaw.
Result<void> append_xgboost(TreeEnsemble& to, std::string_view json, std::int64_t rounds, std::int32_t output);

}  // namespace hpo
