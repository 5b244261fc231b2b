// What a study gets that names no sampler: tpe, started by as many Sobol points as the space asks for and the budget
// allows: two a dimension and two more, at least 8, at most a quarter of the budget. A budget of fewer than 12 trials
// leaves a model nothing to learn from: sobol all the way.

#include <algorithm>

#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/sobol.hpp"

namespace hpo {

constinit const SamplerRow auto_row{
    {"auto", "sobol for the first trials, then tpe; sobol alone for fewer than 12 trials", {}},
    [](const Params&, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        if (setup.trials < 12)
            return setup.space.size() <= sobol_dimensions ? sobol_row.make({}, setup) : random_row.make({}, setup);
        const auto wish = static_cast<std::int64_t>(2 * setup.space.size() + 2);
        const std::int64_t startup =
            std::max<std::int64_t>(std::min(std::max<std::int64_t>(wish, 8), setup.trials / 4), 3);
        return tpe_row.make({{"startup", startup}}, setup);
    }};

}  // namespace hpo
