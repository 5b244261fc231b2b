#include "worker/trees/tree_ensemble.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hpo {
namespace {

constexpr std::int64_t exact_in_float = std::int64_t{1} << 24;

/// The flaw of a file.
struct Flaw : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A tree of XGBoost, whose children may lie anywhere, with the children of each node side by side.
BoostedTree tree_of(const nlohmann::json& json, std::int32_t output, std::int64_t features) {
    const auto left = json.at("left_children").get<std::vector<std::int64_t>>();
    const auto right = json.at("right_children").get<std::vector<std::int64_t>>();
    const auto feature = json.at("split_indices").get<std::vector<std::int64_t>>();
    const auto value = json.at("split_conditions").get<std::vector<float>>();
    const std::size_t count = left.size();
    if (count == 0 || right.size() != count || feature.size() != count || value.size() != count)
        throw Flaw("a tree of XGBoost with arrays of different lengths");
    BoostedTree tree{output, {TreeNode{}}};
    std::vector<std::size_t> from{0};  // the node of XGBoost for each one that was made
    for (std::size_t made = 0; made < from.size(); ++made) {
        const std::size_t node = from[made];
        TreeNode& its = tree.nodes[made];
        its.value = value[node];
        if (left[node] < 0) continue;
        const auto child = [&](std::int64_t at) {
            if (at <= 0 || at >= static_cast<std::int64_t>(count) || from.size() > count)
                throw Flaw("a tree of XGBoost with a wrong child");
            return static_cast<std::size_t>(at);
        };
        if (feature[node] < 0 || feature[node] >= features) throw Flaw("a tree of XGBoost with a wrong feature");
        its.feature = static_cast<std::int32_t>(feature[node]);
        its.left = static_cast<std::int32_t>(from.size());
        from.push_back(child(left[node]));
        from.push_back(child(right[node]));
        tree.nodes.resize(from.size());
    }
    return tree;
}

const StoredTensor& tensor(const std::map<std::string, StoredTensor, std::less<>>& tensors, const char* name,
                           std::size_t columns) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) throw Flaw(std::string("the tensor ") + name + " is missing");
    const std::vector<std::int64_t>& shape = found->second.shape;
    const bool fits =
        columns == 1 ? shape.size() == 1 : shape.size() == 2 && shape[1] == static_cast<std::int64_t>(columns);
    if (!fits) throw Flaw(std::string("the tensor ") + name + " has another shape");
    return found->second;
}

/// A whole number from `low` to `high` - 1 that a float holds.
std::int32_t whole(float number, std::int64_t low, std::int64_t high, const char* name) {
    const auto integer = static_cast<double>(number);
    if (!(integer >= static_cast<double>(low) && integer < static_cast<double>(high)) ||
        integer != static_cast<double>(static_cast<std::int32_t>(integer)))
        throw Flaw(std::string("trees: a wrong ") + name);
    return static_cast<std::int32_t>(integer);
}

}  // namespace

void TreeEnsemble::predict(std::span<const float> rows, std::span<float> outputs) const {
    const auto columns = static_cast<std::size_t>(features);
    const std::size_t width = base.size();
    for (std::size_t row = 0; row * width < outputs.size(); ++row) {
        const auto its = rows.subspan(row * columns, columns);
        const auto sums = outputs.subspan(row * width, width);
        std::ranges::copy(base, sums.begin());
        for (const BoostedTree& tree : trees) {
            std::size_t at = 0;
            while (tree.nodes[at].feature >= 0) {
                const TreeNode& node = tree.nodes[at];
                const bool below = its[static_cast<std::size_t>(node.feature)] < node.value;
                at = static_cast<std::size_t>(node.left) + (below ? 0 : 1);
            }
            sums[static_cast<std::size_t>(tree.output)] += tree.nodes[at].value;
        }
    }
}

std::vector<NamedTensor> TreeEnsemble::tensors(std::vector<std::vector<float>>& storage) const {
    std::vector<float> of_trees, of_nodes;
    for (const BoostedTree& tree : trees) {
        of_trees.insert(of_trees.end(), {static_cast<float>(tree.nodes.size()), static_cast<float>(tree.output)});
        for (const TreeNode& node : tree.nodes)
            of_nodes.insert(of_nodes.end(),
                            {static_cast<float>(node.feature), node.value, static_cast<float>(node.left)});
    }
    storage = {base, std::move(of_trees), std::move(of_nodes)};
    const auto rows = [&](std::size_t i, std::int64_t columns) {
        return static_cast<std::int64_t>(storage[i].size()) / columns;
    };
    return {{"trees.base", {rows(0, 1)}, storage[0]},
            {"trees.trees", {rows(1, 2), 2}, storage[1]},
            {"trees.nodes", {rows(2, 3), 3}, storage[2]}};
}

Result<TreeEnsemble> TreeEnsemble::from_tensors(const std::map<std::string, StoredTensor, std::less<>>& tensors,
                                                std::int64_t features, std::int64_t outputs) {
    try {
        TreeEnsemble read;
        read.features = features;
        read.base = tensor(tensors, "trees.base", 1).values;
        if (static_cast<std::int64_t>(read.base.size()) != outputs) throw Flaw("trees: another number of outputs");
        const std::vector<float>& trees = tensor(tensors, "trees.trees", 2).values;
        const std::vector<float>& nodes = tensor(tensors, "trees.nodes", 3).values;
        std::size_t at = 0;
        for (std::size_t i = 0; i < trees.size(); i += 2) {
            const std::int64_t left_over = static_cast<std::int64_t>((nodes.size() - at) / 3);
            const std::int64_t count = whole(trees[i], 1, std::min(exact_in_float, left_over + 1), "number of nodes");
            BoostedTree& tree = read.trees.emplace_back();
            tree.output = whole(trees[i + 1], 0, outputs, "output");
            tree.nodes.reserve(static_cast<std::size_t>(count));
            for (std::int64_t n = 0; n < count; ++n, at += 3) {
                TreeNode node{whole(nodes[at], -1, std::min(features, exact_in_float), "feature"), nodes[at + 1], 0};
                if (node.feature >= 0) node.left = whole(nodes[at + 2], n + 1, count - 1, "child");
                tree.nodes.push_back(node);
            }
        }
        if (at != nodes.size()) throw Flaw("trees: nodes that belong to no tree");
        return read;
    } catch (const Flaw& flaw) {
        return Error{flaw.what()};
    }
}

Result<void> append_xgboost(TreeEnsemble& to, std::string_view json, std::int64_t rounds, std::int32_t output) {
    try {
        const auto model = nlohmann::json::parse(json).at("learner").at("gradient_booster").at("model");
        const auto& trees = model.at("trees");
        const auto groups = model.at("tree_info").get<std::vector<std::int32_t>>();
        if (groups.size() != trees.size()) throw Flaw("XGBoost's trees without their groups");
        const std::int32_t of_round = groups.empty() ? 1 : *std::ranges::max_element(groups) + 1;
        const auto count = std::min(trees.size(), static_cast<std::size_t>(rounds * of_round));
        for (std::size_t i = 0; i < count; ++i) {
            const std::int32_t to_output = output + groups[i];
            if (groups[i] < 0 || to_output >= static_cast<std::int32_t>(to.base.size()))
                throw Flaw("a tree of XGBoost for an output that is not there");
            to.trees.push_back(tree_of(trees[i], to_output, to.features));
        }
        return {};
    } catch (const Flaw& flaw) {
        return Error{flaw.what()};
    } catch (const nlohmann::json::exception& flaw) {
        return Error{std::string("XGBoost's trees cannot be read: ") + flaw.what()};
    }
}

}  // namespace hpo
