// The gp sampler of studies with several objectives or with constraints.
#pragma once

#include <memory>

#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// The options of the gp sampler.
struct GpOptions {
    std::size_t startup = 5;  ///< trials proposed by sobol before the models are used
    double uniform = 0;       ///< share of the proposals that are drawn from the priors
};

/// Returns a sampler that models each objective and each constraint by a Gaussian process. It proposes the point that
/// is expected to add most to the Pareto front (pareto_improvement.hpp). `fallback` proposes if the models repeat a
/// point.
std::unique_ptr<Sampler> make_several(const GpOptions& options, const SamplerSetup& setup,
                                      std::unique_ptr<Sampler> fallback);

}  // namespace hpo
