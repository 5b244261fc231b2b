// Admission of all waiting trials at once, for tests and benchmarks that have no workers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "orchestrator/scheduling/admission.hpp"

namespace hpo::testing {

struct Admitted {
    std::vector<Admission::Launch> launch;        ///< in this order
    std::vector<Admission::Reason> never;         ///< trials that do not fit the empty machine
    std::optional<Admission::Reason> kept_out{};  ///< the first trial that waits for other programs
};

/// `running` stands in the order of launch, `waiting` in the order in which trials should start.
inline Admitted admit(const Machine& machine, std::span<const Reservation> running, std::span<const TrialNeeds> waiting,
                      std::optional<std::int64_t> parallel) {
    Admission admission(machine, parallel);
    for (std::size_t i = 0; i < running.size(); ++i) admission.hold(static_cast<std::int64_t>(i), running[i]);
    Admitted admitted;
    for (const TrialNeeds& trial : waiting) {
        const Admission::Fit fit = admission.fit_of(trial);
        if (fit == Admission::Fit::never)
            admitted.never.push_back({trial.trial, admission.too_large(trial)});
        else if (auto launch = admission.consider(trial, fit))
            admitted.launch.push_back(std::move(*launch));
        else if (fit == Admission::Fit::kept_out && !admitted.kept_out)
            admitted.kept_out = {trial.trial, admission.kept_out(trial)};
    }
    return admitted;
}

}  // namespace hpo::testing
