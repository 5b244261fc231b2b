#include "orchestrator/import/registry.hpp"

#include <algorithm>
#include <array>

namespace hpo::importing {

namespace {
constexpr std::array rows{&wandb_sweep, &nni_experiment, &nni_space, &katib_experiment, &hydra_optuna};
}

std::span<const Format* const> formats() { return rows; }

std::vector<std::string> tool_names() {
    std::vector<std::string> names;
    for (const Format* format : rows)
        if (std::find(names.begin(), names.end(), format->tool) == names.end()) names.emplace_back(format->tool);
    return names;
}

}  // namespace hpo::importing
