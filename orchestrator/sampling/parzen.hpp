// Parzen estimators in the unit cube. An estimator is a mixture of one product kernel for each point and the uniform
// density as prior. The kernel of a numeric coordinate is a Gaussian truncated to [0, 1]. The kernel of a categorical
// coordinate (bins of equal width) has most of its mass on the point's own bin (Aitchison and Aitken, 1976). A
// coordinate that is inactive in a kernel is uniform there. A coordinate that is inactive in the evaluated point is
// left out. Conditional dimensions therefore need no separate model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// The number of choices of each dimension, 0 for a numeric one.
using ChoiceCounts = std::vector<std::size_t>;

/// The density of a set of sites. Immutable.
class ParzenEstimator {
   public:
    /// `prior_weight` is the weight of the uniform density. Each site has weight 1. `choices` must outlive this.
    ParzenEstimator(const ChoiceCounts& choices, std::span<const Site* const> sites, double prior_weight);

    /// Draws a point. `uniform` returns numbers in [0, 1).
    [[nodiscard]] Point sample(const std::function<double()>& uniform) const;

    /// Returns the density at `site`, over its active dimensions.
    [[nodiscard]] double density(const Site& site) const;

   private:
    const ChoiceCounts& choices_;
    std::size_t count_;
    double prior_weight_;
    std::vector<double> bandwidth_;  ///< standard deviation of the numeric kernels, for each dimension
    std::vector<double> centres_;    ///< count x dimensions; for categorical: the index of the choice
    std::vector<double>
        heights_;                ///< of each numeric kernel: 1 / (sqrt(2 pi) bandwidth mass inside [0, 1]); 0: inactive
    std::vector<double> own_;    ///< a categorical kernel's density on its own bin, for each dimension
    std::vector<double> other_;  ///< a categorical kernel's density on each other bin, for each dimension
};

/// Returns the bin of a categorical coordinate.
std::size_t choice_at(double coordinate, std::size_t count);

}  // namespace hpo
