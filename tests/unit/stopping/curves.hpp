// Trials for the tests of stopping rules, with given or random curves.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "hpo/random.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo::testing_curves {

inline TrialRecord trial(std::int64_t number, const std::vector<double>& values,
                         const std::string& metric = "val_accuracy") {
    TrialRecord made;
    made.number = number;
    made.state = TrialState::running;
    for (const double value : values) {
        Report report;
        report.step = static_cast<std::int64_t>(made.curve.size()) + 1;
        report.metrics[metric] = value;
        made.curve.push_back(report);
    }
    return made;
}

/// Returns the trial as it was after `steps` steps.
inline TrialRecord upto(TrialRecord made, std::size_t steps) {
    made.curve.resize(steps);
    return made;
}

/// Reports a whole curve step by step. Returns the first verdict other than go_on and its step, or step 0 if there is
/// none.
inline std::pair<std::int64_t, Verdict> feed(StoppingRule& rule, const TrialRecord& made) {
    for (std::size_t steps = 1; steps <= made.curve.size(); ++steps) {
        Verdict verdict = rule.report(upto(made, steps));
        if (verdict.action != to_worker::Action::go_on) return {static_cast<std::int64_t>(steps), verdict};
    }
    return {0, {}};
}

inline std::unique_ptr<StoppingRule> rule(const std::string& name, const Params& options = {}, std::int64_t steps = 20,
                                          const Objective& objective = {}) {
    auto made = make_rule({name, options}, objective, steps);
    return made ? *std::move(made) : nullptr;
}

/// Returns the accuracy of a synthetic trial at a step. Each trial approaches a ceiling between 0.70 and 0.90 at its
/// own pace, with noise.
inline double accuracy(std::int64_t number, std::int64_t step) {
    const auto n = static_cast<std::uint64_t>(number);
    const double ceiling = 0.70 + 0.20 * draw_unit(3, Purpose::synthetic, n, 0);
    const double pace = 1 + 2 * draw_unit(3, Purpose::synthetic, n, 1);
    double noise = -6;
    for (std::uint64_t i = 0; i < 12; ++i)
        noise += draw_unit(3, Purpose::synthetic, n, 100 + 12 * static_cast<std::uint64_t>(step) + i);
    return ceiling - (ceiling - 0.1) * std::exp(-static_cast<double>(step) / pace) + 0.003 * noise;
}

}  // namespace hpo::testing_curves
