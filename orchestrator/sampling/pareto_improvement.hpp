// What a point is expected to add to a Pareto front, with the probability that it keeps the constraints.
//
// The hypervolume that a front dominates is an average over directions w of how far it reaches along them: a point y
// reaches t = min_m (reference_m - y_m) / w_m, a front as far as its furthest point, and the volume grows with t to the
// power of the number of objectives (Deng, Zhang: "Approximating hypervolume and hypervolume contributions using polar
// coordinate", IEEE Transactions on Evolutionary Computation, 2019; Zhang, Golovin: "Random hypervolume scalarizations
// for provable multi-objective black box optimization", ICML 2020). Objectives are modelled by a process each, so that
// the probability of reaching beyond t is a product of normal ones: the expected growth is an integral over t alone,
// whatever the number of objectives. Constraints multiply it by their probability (Gardner and others: "Bayesian
// optimization with inequality constraints", ICML 2014). All is computed as logarithms, which have a slope where there
// is little hope.
#pragma once

#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"

namespace hpo {

/// A process of a constraint's violation, and where on its scale the constraint begins to break.
struct Bounded {
    const GaussianProcess& process;
    double bound = 0;
};

class ParetoImprovement final : public Acquisition {
   public:
    /// All on the scales of the processes, which must outlive this. `front`: losses of the points to improve on, one
    /// value an objective; empty: there is none that keeps the constraints, and their probability alone counts.
    /// `directions`: positive unit vectors, of which the average is taken; not used with one objective. `beyond`: how
    /// far the reference lies beyond the front's worst values, as a share of its extent.
    ParetoImprovement(std::vector<const GaussianProcess*> objectives, std::vector<Bounded> constraints,
                      const std::vector<std::vector<double>>& front, std::vector<std::vector<double>> directions,
                      double beyond);

    [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override;
    double value(std::span<const double> input, std::span<double> gradient) const override;

   private:
    using Prediction = GaussianProcess::Prediction;
    /// Derivatives by a prediction's mean and deviation.
    struct Slope {
        double by_mean = 0, by_deviation = 0;
    };
    double growth(std::span<const Prediction> predictions, std::span<Slope> slopes) const;

    std::vector<const GaussianProcess*> objectives_;
    std::vector<Bounded> constraints_;
    std::vector<std::vector<double>> directions_;
    std::vector<double> reference_;  ///< beyond the front's worst values
    std::vector<double> reached_;    ///< by the front, a direction
    bool has_front_;
};

/// `count` positive unit vectors of so many coordinates, spread evenly in two of them. `uniform` gives numbers in
/// [0, 1).
std::vector<std::vector<double>> positive_directions(std::size_t objectives, std::size_t count,
                                                     const std::function<double()>& uniform);

}  // namespace hpo
