// The stopping rules that a study file can name (`stopping: [{rule: ..., option: ...}]`). To add a rule, define its
// RuleRow in a new file and list it here and in registry.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hpo/options.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/stopping/rule.hpp"

namespace hpo {

/// The parameters that a rule is created with.
struct RuleSetup {
    Params options;             ///< validated: all names are known and all values are in range
    Objective objective;        ///< the study's objective
    std::int64_t steps = 1;     ///< the budget of a trial
    std::string unit = "step";  ///< the name of a step in reasons (hpo/step_name.hpp)
    std::int64_t first = 1;     ///< the number of the first trial that the rule judges
};

struct RuleRow {
    PartOptions part;
    std::unique_ptr<StoppingRule> (*make)(const RuleSetup& setup);
    bool alone = false;  ///< judges each trial by itself; other rules compare trials by one objective
};

extern const RuleRow plateau_row;
extern const RuleRow divergence_row;
extern const RuleRow median_row;
extern const RuleRow percentile_row;
extern const RuleRow asha_row;
extern const RuleRow hyperband_row;
extern const RuleRow pasha_row;
extern const RuleRow extrapolation_row;

/// Returns the names, descriptions and options of all rules, for validation, error messages and help.
std::span<const PartOptions> rule_vocabulary();

/// Returns true if the rule of this name judges each trial by itself.
bool judges_alone(std::string_view rule);

/// Creates the rule that `spec` names for trials of up to `steps` steps, of which `first` is the first. Does not
/// compare within kinds: rules.hpp does. Fails if the rule or one of its options is unknown, or if the rule compares
/// trials and the study has several objectives.
Result<std::unique_ptr<StoppingRule>> make_rule(const PartSpec& spec, const Objective& objective, std::int64_t steps,
                                                const std::string& unit = "step", std::int64_t first = 1);

}  // namespace hpo
