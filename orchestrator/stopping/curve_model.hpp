// Where a trial's learning curve will end, learnt from the curves of the study alone.
//
// Curves are looked at where they pass a few nodes, steps that lie geometrically apart, the last of them the full
// length. From each node to the next leads a Bayesian ridge regression of the value there on the value here and on its
// change since the node before (MacKay: "Bayesian interpolation", Neural Computation 4(3), 1992). Its prior says that
// differences stay as they are, so that few curves suffice to begin with, and curves that cross, late falls and ranks
// that turn round are learnt as the study meets them. Chained backwards from the end the regressions give each node a
// linear map to the end, with a variance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hpo {

/// Values of one trial at the nodes that it has passed, in their order; smaller is better, infinite is the worst.
using CurvePath = std::vector<double>;

class CurveModel {
   public:
    struct End {
        double value = 0;
        double deviation = 0;  ///< one standard deviation
    };

    /// `nodes`: how many there are, the end included; at least one.
    explicit CurveModel(std::size_t nodes);

    /// Learns anew from all trials. Costs a time linear in their number.
    void fit(std::span<const CurvePath* const> paths);

    /// The end of a trial that has passed a node at least: its value where it has passed the last one. Before `fit`
    /// what it has now, without any deviation.
    [[nodiscard]] End end(const CurvePath& path) const;

    /// How far the values at a node tell the ends of the trials that passed it: the correlation of what is predicted
    /// with what will be, from 0 to 1, as far as the study has seen; 0 until `enough` trials have passed the next node.
    [[nodiscard]] double tells(std::size_t node) const { return nodes_[node].tells; }
    static constexpr std::size_t enough = 8;

    /// An end as the model takes it: what is far worse than the middle counts as no worse than that.
    [[nodiscard]] double bounded_end(double value) const {
        return value < nodes_.back().worst ? value : nodes_.back().worst;
    }

   private:
    /// A path's end from its value at this node and the change that led there: base + value * v + change * c.
    struct Node {
        double worst = 0;  ///< greater values count as this
        double base = 0, value = 1, change = 0;
        double variance = 0;
        double tells = 0;
    };
    [[nodiscard]] double at(const CurvePath& path, std::size_t node) const;
    [[nodiscard]] double change(const CurvePath& path, std::size_t node) const;
    [[nodiscard]] double predicted(const CurvePath& path, std::size_t node) const;
    void bound(std::span<const CurvePath* const> paths);
    void regress(std::span<const CurvePath* const> paths, std::size_t node);
    void judge(std::span<const CurvePath* const> paths, std::size_t node);

    std::vector<Node> nodes_;
    bool fitted_ = false;
};

}  // namespace hpo
