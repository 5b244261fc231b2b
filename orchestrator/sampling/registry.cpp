#include "orchestrator/sampling/registry.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace hpo {

namespace {
constexpr std::array rows{&auto_row, &cmaes_row, &gp_row, &grid_row, &random_row, &sobol_row, &tpe_row};
}

std::span<const PartOptions> sampler_vocabulary() {
    static const std::vector<PartOptions> parts = [] {
        std::vector<PartOptions> made;
        for (const SamplerRow* row : rows) made.push_back(row->part);
        return made;
    }();
    return parts;
}

bool samples_as_declared(const PartSpec& spec) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const SamplerRow* row) { return row->part.name == spec.type && row->as_declared; });
}

bool samples_quickly(const PartSpec& spec) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const SamplerRow* row) { return row->part.name == spec.type && row->quick; });
}

Result<std::unique_ptr<Sampler>> make_sampler(const PartSpec& spec, const SamplerSetup& setup) {
    for (const SamplerRow* row : rows) {
        if (row->part.name != spec.type) continue;
        for (const auto& [name, value] : spec.options)
            if (!find_option(row->part.options, name))
                return Error{"sampler " + spec.type + " has no option \"" + name + "\""};
        if (row->single && (setup.objectives > 1 || setup.constraints > 0))
            return Error{"sampler " + spec.type +
                         " is for one objective without constraints: sampler: auto, gp or tpe "
                         "search for several, and keep constraints"};
        if (setup.beliefs && !row->believes)
            return Error{"sampler " + spec.type +
                         " takes no notice of a parameter's 'prior': leave it out, or take auto, "
                         "gp, tpe or random"};
        return row->make(spec.options, setup);
    }
    std::string known;
    for (const SamplerRow* row : rows) known += (known.empty() ? "" : ", ") + std::string(row->part.name);
    return Error{"unknown sampler \"" + spec.type + "\"; known are " + known};
}

}  // namespace hpo
