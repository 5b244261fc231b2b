// ASHA: asynchronous successive halving (halving.hpp; Li et al.: "A system for massively parallel hyperparameter
// tuning", MLSys 2020).

#include <array>

#include "orchestrator/stopping/halving.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array asha_options{
    first_rung_option,
    factor_option,
    within_option,
};

}  // namespace

constinit const RuleRow asha_row{
    {"asha", "pauses trials at rungs and promotes the best of each (successive halving)", asha_options, true},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> {
        const auto factor = static_cast<std::int64_t>(number_option(setup.options, asha_options, "factor"));
        const auto grace = static_cast<std::int64_t>(number_option(setup.options, asha_options, "grace"));
        return std::make_unique<Halving>("asha", setup.objective, rung_steps(grace, factor, setup.steps),
                                         static_cast<std::size_t>(factor), setup.unit);
    }};

}  // namespace hpo
