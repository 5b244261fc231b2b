// Predicts the end of a trial's learning curve, from the curves of the study alone.
//
// Curves are sampled at a few nodes: geometrically spaced steps, the last of which is the full length. A Bayesian ridge
// regression predicts the value at the next node from the value at a node and its change since the previous one
// (MacKay: "Bayesian interpolation", Neural Computation 4(3), 1992). The prior assumes that differences between trials
// persist, so a few curves suffice at first. Crossing curves, late drops and rank reversals are learnt as they occur.
// Chaining the regressions backwards from the end gives each node a linear map to the end, with a variance.
//
// A line through a few curves says nothing far away from them, so predictions are kept within the values that the
// study has seen, widened by their range. All values are taken relative to that range: a model of metrics that are
// shifted or scaled predicts the same, shifted and scaled. Where it is known which values a metric can have,
// predictions beyond the values seen are kept on this side of the limit, in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "orchestrator/stopping/possible_values.hpp"

namespace hpo {

/// The values of one trial at the nodes that it has passed, in order. Smaller is better. Infinity is the worst value.
using CurvePath = std::vector<double>;

class CurveModel {
   public:
    struct End {
        double value = 0;
        double deviation = 0;  ///< one standard deviation
    };

    /// `nodes` is the number of nodes, including the end. It must be at least one. `possible` are the ranges that
    /// values may have (possible_values.hpp); predictions stay within the first one that holds all values of the last
    /// fit.
    explicit CurveModel(std::size_t nodes, std::vector<PossibleValues> possible = {});

    /// Fits the model to all trials, discarding the previous fit. Takes time linear in the number of trials.
    void fit(std::span<const CurvePath* const> paths) { fit(paths, {}); }
    /// Fits a model that is drawn from those that the trials leave possible, with numbers of the standard normal
    /// distribution. Few trials leave many possible, which predict the ends of all others alike too high or too low.
    void fit(std::span<const CurvePath* const> paths, const std::function<double()>& draw_normal);

    /// Returns the predicted end of a trial that has passed at least one node. For a trial that has passed the last
    /// node, and before the first `fit`, returns its latest value with a deviation of 0.
    [[nodiscard]] End end(const CurvePath& path) const;

    /// Returns how well the values at a node predict the ends of trials: the estimated correlation of predicted and
    /// real ends, from 0 to 1. Returns 0 until `enough` trials have passed the next node.
    [[nodiscard]] double tells(std::size_t node) const { return nodes_[node].tells; }
    static constexpr std::size_t enough = 8;

    /// Returns the value of an end as the model uses it, capped at the model's worst value. The cap keeps outliers from
    /// dominating the fit.
    [[nodiscard]] double bounded_end(double value) const { return bounded(nodes_.size() - 1, value); }
    /// The same for a value at a node.
    [[nodiscard]] double bounded(std::size_t node, double value) const {
        return value < nodes_[node].worst ? value : nodes_[node].worst;
    }

   private:
    /// Predicts a path's end from its value v at this node and the change c since the previous node, as
    /// base + value * v + change * c. All but `worst` is relative to `origin_` and `unit_`.
    struct Node {
        double worst = 0;          ///< larger values are capped at this
        double low = 0, high = 0;  ///< range of the values seen at this node and the later ones
        double base = 0, value = 1, change = 0;
        double variance = 0;
        double tells = 0;
    };
    [[nodiscard]] double at(const CurvePath& path, std::size_t node) const;
    [[nodiscard]] double change(const CurvePath& path, std::size_t node) const;
    /// Returns the same as `end`, relative to `origin_` and `unit_`.
    [[nodiscard]] End predicted(const CurvePath& path, std::size_t node) const;
    [[nodiscard]] double kept_possible(double value, double latest) const;
    void bound(std::span<const CurvePath* const> paths);
    void measure(std::span<const CurvePath* const> paths);
    void regress(std::span<const CurvePath* const> paths, std::size_t node, const std::function<double()>& draw_normal);
    void judge(std::span<const CurvePath* const> paths, std::size_t node);

    std::vector<Node> nodes_;
    std::vector<PossibleValues> possible_;
    double origin_ = 0, unit_ = 1;
    bool fitted_ = false;
};

}  // namespace hpo
