// The gp sampler of studies with several objectives or with constraints.
#pragma once

#include <memory>

#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

struct GpOptions {
    std::size_t startup = 5;  ///< trials proposed by sobol before the models are asked
    double uniform = 0;       ///< share of the proposals that are drawn from the priors alone
};

/// Models each objective and each constraint by a Gaussian process and proposes what is expected to add most to the
/// Pareto front (pareto_improvement.hpp). `fallback` proposes where the models insist on a point that is known.
std::unique_ptr<Sampler> make_several(const GpOptions& options, const SamplerSetup& setup,
                                      std::unique_ptr<Sampler> fallback);

}  // namespace hpo
