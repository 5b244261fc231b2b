#include "orchestrator/analysis/boosted_trees.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace hpo::analysis {

namespace {

constexpr std::size_t least_leaf = 2;  // trials
constexpr int most_depth = 3;          // of a tree: up to three parameters act together
constexpr double pace = 0.2;           // the part of the residual that a tree takes

constexpr BinSet all_bins(std::size_t count) { return count >= 32 ? ~BinSet{0} : (BinSet{1} << count) - 1; }

/// A split of trials by one dimension. Its gain is the reduction of the sum of squares.
struct Split {
    double gain = 0;
    std::size_t dimension = 0;
    BinSet left = 0;
};

}  // namespace

/// The trials of a forest, a row each, with the residuals of their values.
struct BoostedTrees::Rows {
    std::size_t dimensions = 0;
    std::vector<std::uint8_t> bins;  ///< by trial, then by dimension
    std::vector<double> left_over;   ///< by trial: the value without the predictions of the trees so far

    [[nodiscard]] const std::uint8_t* row(std::size_t trial) const { return bins.data() + trial * dimensions; }
};

/// A trial of a bootstrap sample.
struct BoostedTrees::Drawn {
    std::uint32_t trial = 0;
    std::uint32_t times = 0;
};

namespace {

/// The sum and the number of the residuals of the trials in one bin of a dimension.
struct BinSum {
    double sum = 0;
    std::size_t count = 0;
};

/// Improves `best` by the best split of a dimension with these sums of its bins, which add up to `total`.
void try_dimension(const BinnedTrials& trials, const BinSum* sums, const BinSum& total, const std::vector<BinSet>& box,
                   std::size_t dimension, Split& best) {
    std::array<std::size_t, most_bins> order;
    std::size_t filled = 0;
    for (std::size_t bin = 0; bin < trials.bins[dimension]; ++bin)
        if (sums[bin].count > 0) order[filled++] = bin;
    if (filled < 2) return;
    // Sort categories by their means. The best binary split is contiguous in this order.
    if (!trials.ordered[dimension])
        std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(filled),
                         [&](std::size_t a, std::size_t b) {
                             return sums[a].sum / static_cast<double>(sums[a].count) <
                                    sums[b].sum / static_cast<double>(sums[b].count);
                         });
    const auto n = static_cast<double>(total.count);
    double left_sum = 0;
    std::size_t left_count = 0;
    BinSet left = 0;
    for (std::size_t k = 0; k + 1 < filled; ++k) {
        left_sum += sums[order[k]].sum, left_count += sums[order[k]].count;
        left |= BinSet{1} << order[k];
        const std::size_t right_count = total.count - left_count;
        if (left_count < least_leaf || right_count < least_leaf) continue;
        const auto a = static_cast<double>(left_count), b = static_cast<double>(right_count);
        const double apart = left_sum / a - (total.sum - left_sum) / b;
        const double gain = a * b / n * apart * apart;
        if (!(gain > best.gain * (1 + 1e-12))) continue;
        // Place the border in the middle of the empty bins between two bins with trials.
        BinSet bins = left;
        if (trials.ordered[dimension]) bins = all_bins((order[k] + order[k + 1] + 1) / 2);
        best = {gain, dimension, bins & box[dimension]};
    }
}

}  // namespace

BoostedTrees::BoostedTrees(const BinnedTrials& trials, const std::vector<std::size_t>& of, int trees,
                           const std::function<double()>& uniform)
    : bins_(trials.bins) {
    std::vector<BinSet> space;
    for (const std::size_t bins : bins_) space.push_back(all_bins(bins));
    double least = INFINITY, most = -INFINITY;
    for (const std::size_t i : of) {
        base_ += trials.values[i] / static_cast<double>(of.size());
        least = std::min(least, trials.values[i]);
        most = std::max(most, trials.values[i]);
    }
    least_gain_ = 1e-12 * (most - least) * (most - least);
    Rows rows{bins_.size(), {}, {}};
    for (const std::size_t i : of) {
        for (const int bin : trials.points[i]) rows.bins.push_back(static_cast<std::uint8_t>(bin));
        rows.left_over.push_back(trials.values[i] - base_);
    }
    for (int t = 0; t < trees; ++t) {
        std::vector<std::uint32_t> times(of.size());
        for (std::size_t i = 0; i < of.size(); ++i)
            ++times[static_cast<std::size_t>(uniform() * static_cast<double>(of.size()))];
        std::vector<Drawn> drawn;
        for (std::size_t i = 0; i < of.size(); ++i)
            if (times[i] > 0) drawn.push_back({static_cast<std::uint32_t>(i), times[i]});
        trees_.emplace_back();
        grow(trees_.back(), trials, rows, std::move(drawn), space, 0);
        for (std::size_t i = 0; i < of.size(); ++i) rows.left_over[i] -= predict(trees_.back(), rows.row(i));
    }
}

int BoostedTrees::grow(Tree& tree, const BinnedTrials& trials, const Rows& rows, std::vector<Drawn> of,
                       std::vector<BinSet> box, int depth) {
    const int number = static_cast<int>(tree.size());
    tree.emplace_back();
    BinSum total;
    std::vector<BinSum> sums(depth < most_depth ? bins_.size() * most_bins : 0);  // by dimension and bin
    for (const auto& [trial, times] : of) {
        const double sum = times * rows.left_over[trial];
        total.sum += sum, total.count += times;
        if (sums.empty()) continue;
        const std::uint8_t* row = rows.row(trial);
        for (std::size_t d = 0; d < bins_.size(); ++d) {
            BinSum& bin = sums[d * most_bins + row[d]];
            bin.sum += sum, bin.count += times;
        }
    }
    const double value = pace * total.sum / static_cast<double>(total.count);
    Split split;
    if (depth < most_depth && total.count >= 2 * least_leaf)
        for (std::size_t d = 0; d < bins_.size(); ++d)
            try_dimension(trials, sums.data() + d * most_bins, total, box, d, split);
    if (split.gain <= least_gain_) {
        tree[static_cast<std::size_t>(number)].value = value;
        double share = 1;
        for (std::size_t d = 0; d < bins_.size(); ++d)
            share *= static_cast<double>(std::popcount(box[d])) / static_cast<double>(bins_[d]);
        leaves_.push_back({std::move(box), value, share});
        return number;
    }
    std::vector<Drawn> left, right;
    for (const Drawn& each : of)
        ((split.left >> rows.row(each.trial)[split.dimension]) & 1 ? left : right).push_back(each);
    std::vector<BinSet> left_box = box, right_box = std::move(box);
    left_box[split.dimension] &= split.left;
    right_box[split.dimension] &= ~split.left;
    const int l = grow(tree, trials, rows, std::move(left), std::move(left_box), depth + 1);
    const int r = grow(tree, trials, rows, std::move(right), std::move(right_box), depth + 1);
    tree[static_cast<std::size_t>(number)] = {split.dimension, split.left, l, r, value};
    return number;
}

template <class Bin>
double BoostedTrees::predict(const Tree& tree, const Bin* point) {
    std::size_t at = 0;
    while (tree[at].left >= 0)
        at = static_cast<std::size_t>((tree[at].left_bins >> point[tree[at].dimension]) & 1 ? tree[at].left
                                                                                            : tree[at].right);
    return tree[at].value;
}

double BoostedTrees::predict(const std::vector<int>& point) const {
    double sum = base_;
    for (const Tree& tree : trees_) sum += predict(tree, point.data());
    return sum;
}

std::vector<double> BoostedTrees::marginal(std::size_t dimension) const {
    std::vector<double> means(bins_[dimension], base_);
    for (const Leaf& leaf : leaves_) {
        const double each = leaf.value * leaf.share * static_cast<double>(bins_[dimension]) /
                            static_cast<double>(std::popcount(leaf.box[dimension]));
        for (BinSet left = leaf.box[dimension]; left != 0; left &= left - 1)
            means[static_cast<std::size_t>(std::countr_zero(left))] += each;
    }
    return means;
}

std::vector<double> BoostedTrees::marginal(std::size_t first, std::size_t second) const {
    std::vector<double> means(bins_[first] * bins_[second], base_);
    for (const Leaf& leaf : leaves_) {
        const double each = leaf.value * leaf.share * static_cast<double>(bins_[first] * bins_[second]) /
                            static_cast<double>(std::popcount(leaf.box[first]) * std::popcount(leaf.box[second]));
        for (BinSet a = leaf.box[first]; a != 0; a &= a - 1)
            for (BinSet b = leaf.box[second]; b != 0; b &= b - 1)
                means[static_cast<std::size_t>(std::countr_zero(a)) * bins_[second] +
                      static_cast<std::size_t>(std::countr_zero(b))] += each;
    }
    return means;
}

}  // namespace hpo::analysis
