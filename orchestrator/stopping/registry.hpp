// The rules a study file may name (`stopping: [{rule: ..., option: ...}]`). A new rule is a file with its row and one
// line in registry.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hpo/options.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/stopping/rule.hpp"

namespace hpo {

/// What a rule is made for.
struct RuleSetup {
    Params options;             ///< known and in range
    Objective objective;        ///< of the study
    std::int64_t steps = 1;     ///< budget of a trial
    std::string unit = "step";  ///< what reasons call a step (hpo/step_name.hpp)
};

struct RuleRow {
    PartOptions part;
    std::unique_ptr<StoppingRule> (*make)(const RuleSetup& setup);
    bool alone = false;  ///< it looks at a trial alone; others compare trials, by one objective
};

extern const RuleRow plateau_row;
extern const RuleRow divergence_row;
extern const RuleRow median_row;
extern const RuleRow percentile_row;
extern const RuleRow asha_row;
extern const RuleRow hyperband_row;
extern const RuleRow pasha_row;
extern const RuleRow extrapolation_row;

/// Names, meanings and options of all rules, for checks, errors and help.
std::span<const PartOptions> rule_vocabulary();

/// Fails for unknown rules and options.
Result<std::unique_ptr<StoppingRule>> make_rule(const PartSpec& spec, const Objective& objective, std::int64_t steps,
                                                const std::string& unit = "step");

}  // namespace hpo
