// The expected gain of a Pareto front by a point, times the probability that the point keeps the constraints.
//
// The hypervolume that a front dominates is an average over directions w of its reach along them. A point y reaches t =
// min_m (reference_m - y_m) / w_m, and a front reaches as far as its furthest point. The volume grows with t to the
// power of the number of objectives (Deng, Zhang: "Approximating hypervolume and hypervolume contributions using polar
// coordinate", IEEE Transactions on Evolutionary Computation, 2019; Zhang, Golovin: "Random hypervolume scalarizations
// for provable multi-objective black box optimization", ICML 2020). Each objective has its own process, so that the
// probability of reaching beyond t is a product of normal probabilities. The expected growth is therefore an integral
// over t alone for any number of objectives. It is multiplied by the probability that the constraints are kept (Gardner
// and others: "Bayesian optimization with inequality constraints", ICML 2014). All values are logarithms, which have a
// usable gradient even where improvement is unlikely.
#pragma once

#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"

namespace hpo {

/// The process of a constraint's violation, and the largest value on its scale that keeps the constraint.
struct Bounded {
    const GaussianProcess* process;  ///< lives as long as the object that uses it
    double bound = 0;
};

/// The logarithm of the expected gain.
class ParetoImprovement final : public Acquisition {
   public:
    /// All values are on the scales of the processes, which must outlive this. `front` holds the losses of the points
    /// to improve on, one for each objective. If it is empty, no point keeps the constraints, and only the probability
    /// of keeping them counts. `directions` are the positive unit vectors to average over. They are not used with one
    /// objective. `beyond` is the distance of the reference beyond the front's worst values, as a share of the front's
    /// extent.
    ParetoImprovement(std::vector<const GaussianProcess*> objectives, std::vector<Bounded> constraints,
                      const std::vector<std::vector<double>>& front, std::vector<std::vector<double>> directions,
                      double beyond);

    [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override;
    double value(std::span<const double> input, std::span<double> gradient) const override;

   private:
    using Prediction = GaussianProcess::Prediction;
    /// The derivatives with respect to a prediction's mean and deviation.
    struct Slope {
        double by_mean = 0, by_deviation = 0;
    };
    double growth(std::span<const Prediction> predictions, std::span<Slope> slopes) const;

    std::vector<const GaussianProcess*> objectives_;
    std::vector<Bounded> constraints_;
    std::vector<std::vector<double>> directions_;
    std::vector<double> reference_;  ///< beyond the front's worst values
    std::vector<double> reached_;    ///< reach of the front in each direction
    bool has_front_;
};

/// Returns `count` positive unit vectors with one coordinate for each objective. With two objectives, they are spread
/// evenly. `uniform` returns numbers in [0, 1).
std::vector<std::vector<double>> positive_directions(std::size_t objectives, std::size_t count,
                                                     const std::function<double()>& uniform);

}  // namespace hpo
