// A forest of regression trees over a space of bins (Breiman: "Random forests", Machine Learning 45, 2001), whose means
// over any of the dimensions are exact: each leaf is a box of bins, all bins of a dimension being equally likely.
//
// Every split is the best of all dimensions: where a few of them matter the others are split by rarely. Trees differ by
// the trials that each is grown from, drawn with replacement.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hpo::analysis {

/// Trials in bins.
struct BinnedTrials {
    std::vector<std::size_t> bins;         ///< of each dimension, 1 to 32
    std::vector<bool> ordered;             ///< false: categories
    std::vector<std::vector<int>> points;  ///< of each trial the bin in each dimension
    std::vector<double> values;
};

using BinSet = std::uint32_t;

class Forest {
   public:
    /// Grown from the trials with these indices, at least one. `uniform` gives numbers in [0, 1).
    Forest(const BinnedTrials& trials, const std::vector<std::size_t>& of, int trees,
           const std::function<double()>& uniform);

    [[nodiscard]] double predict(const std::vector<int>& point) const;
    /// The mean over the whole space.
    [[nodiscard]] double mean() const;
    /// The mean in each bin of a dimension, over all others.
    [[nodiscard]] std::vector<double> marginal(std::size_t dimension) const;
    /// In each pair of bins of two dimensions; the first one's bin counts slowly.
    [[nodiscard]] std::vector<double> marginal(std::size_t first, std::size_t second) const;

   private:
    struct Node {
        std::size_t dimension = 0;
        BinSet left_bins = 0;
        int left = -1, right = -1;  ///< -1: a leaf
        double value = 0;
    };
    struct Leaf {
        std::vector<BinSet> box;
        double value = 0;
        double share = 1;  ///< of the space
    };
    using Tree = std::vector<Node>;

    int grow(Tree& tree, const BinnedTrials& trials, std::vector<std::size_t> of, std::vector<BinSet> box, int depth);

    std::vector<std::size_t> bins_;
    std::vector<Tree> trees_;
    std::vector<Leaf> leaves_;  ///< of all trees
};

}  // namespace hpo::analysis
