#include "orchestrator/stopping/registry.hpp"

#include <algorithm>
#include <array>

namespace hpo {

namespace {
constexpr std::array rows{&plateau_row, &divergence_row, &median_row, &percentile_row,
                          &asha_row,    &hyperband_row,  &pasha_row,  &extrapolation_row};

/// Returns the names of the rules that judge a trial by itself: "plateau and divergence".
std::string rules_alone() {
    std::vector<std::string> names;
    for (const RuleRow* row : rows)
        if (row->alone) names.emplace_back(row->part.name);
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

}  // namespace

std::span<const PartOptions> rule_vocabulary() {
    static const std::vector<PartOptions> parts = [] {
        std::vector<PartOptions> result;
        for (const RuleRow* row : rows) result.push_back(row->part);
        return result;
    }();
    return parts;
}

bool judges_alone(std::string_view rule) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const RuleRow* row) { return row->alone && row->part.name == rule; });
}

Result<std::unique_ptr<StoppingRule>> make_rule(const PartSpec& spec, const Objective& objective, std::int64_t steps,
                                                const std::string& unit, std::int64_t first) {
    for (const RuleRow* row : rows) {
        if (row->part.name != spec.type) continue;
        for (const auto& [name, value] : spec.options)
            if (!find_option(row->part.options, name))
                return Error{"stopping rule " + spec.type + " has no option \"" + name + "\""};
        if (!row->alone && !objective.further.empty())
            return Error{"stopping rule " + spec.type + " compares trials by one objective, and this study has " +
                         std::to_string(1 + objective.further.size()) + ": leave it out; " + rules_alone() +
                         " look at a trial alone"};
        return row->make({spec.options, objective, steps, unit, first});
    }
    std::string known;
    for (const RuleRow* row : rows) known += (known.empty() ? "" : ", ") + std::string(row->part.name);
    return Error{"unknown stopping rule \"" + spec.type + "\"; known are " + known};
}

}  // namespace hpo
