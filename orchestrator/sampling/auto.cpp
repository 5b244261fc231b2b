// What a study gets that names no sampler.
//
// A Gaussian process finds the best in fewer trials than tpe wherever trials are trained to their end, but a proposal
// takes it some 20 ms after 200 trials and more after more, where tpe takes a fraction of one. Where stopping rules end
// trials early, values are of different numbers of steps, and tpe, which looks at their order alone, is the safer
// choice until a bench says otherwise.

#include <algorithm>

#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/sobol.hpp"

namespace hpo {

namespace {

constexpr std::int64_t fewest = 8;  // trials: with less a model has nothing to learn from
constexpr std::int64_t most_for_gp = 200;

}  // namespace

constinit const SamplerRow auto_row{
    {"auto",
     "gp for up to 200 trials; tpe for more, or where stopping rules end trials early; sobol for fewer than 8",
     {}},
    [](const Params&, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        if (setup.trials < fewest)
            return setup.space.size() <= sobol_dimensions ? sobol_row.make({}, setup) : random_row.make({}, setup);
        if (!setup.stops_early && setup.trials <= most_for_gp) return gp_row.make({}, setup);
        // tpe begins with as many Sobol points as the space asks for and the budget allows, ten at most.
        const auto wish = static_cast<std::int64_t>(2 * setup.space.size() + 2);
        return tpe_row.make(
            {{"startup", std::max<std::int64_t>(std::min({wish, setup.trials / 4, std::int64_t{10}}), 3)}}, setup);
    }};

}  // namespace hpo
