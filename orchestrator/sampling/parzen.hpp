// Parzen estimators in the unit cube: a mixture of product kernels, one a point, and the uniform density as prior.
// Numeric coordinates have a Gaussian truncated to [0, 1]; categorical ones (bins of equal width) put most of the mass
// on the point's own bin (Aitchison and Aitken, 1976). A coordinate that is inactive in a kernel is uniform there, and
// a coordinate that is inactive in the evaluated point is left out: conditional dimensions need no model of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// Number of choices of each dimension; 0: numeric.
using ChoiceCounts = std::vector<std::size_t>;

class ParzenEstimator {
   public:
    /// `prior_weight`: of the uniform density, where each site weighs 1.
    ParzenEstimator(const ChoiceCounts& choices, std::span<const Site* const> sites, double prior_weight);

    /// A draw; `uniform` gives numbers in [0, 1).
    [[nodiscard]] Point sample(const std::function<double()>& uniform) const;

    /// At `site`, over its active dimensions.
    [[nodiscard]] double density(const Site& site) const;

   private:
    const ChoiceCounts& choices_;
    std::size_t count_;
    double prior_weight_;
    std::vector<double> bandwidth_;  ///< a dimension: standard deviation of its numeric kernels
    std::vector<double> centres_;    ///< count x dimensions; for categorical: the index of the choice
    std::vector<double>
        heights_;                ///< of each numeric kernel: 1 / (sqrt(2 pi) bandwidth mass inside [0, 1]); 0: inactive
    std::vector<double> own_;    ///< per dimension: a categorical kernel's density on its own bin
    std::vector<double> other_;  ///< and on each other bin
};

/// The bin of a categorical coordinate.
std::size_t choice_at(double coordinate, std::size_t count);

}  // namespace hpo
