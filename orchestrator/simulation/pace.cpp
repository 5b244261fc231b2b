#include "orchestrator/simulation/pace.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/median.hpp"

namespace hpo {

std::vector<std::optional<double>> step_seconds(const StudyRecord& record) {
    std::vector<std::optional<double>> paces;
    std::vector<double> known, starts;
    for (const TrialRecord& trial : record.trials) {
        const auto& pace = paces.emplace_back(seconds_between_steps(trial));
        if (!pace) continue;
        known.push_back(*pace);
        const Report& first = trial.curve.front();
        if (trial.attempt == 1 && first.seconds)
            starts.push_back(std::max(0.0, *first.seconds - *pace * static_cast<double>(first.step)));
    }
    if (known.empty()) return paces;
    const double typical = upper_median(known), start = starts.empty() ? 0 : upper_median(starts);
    for (std::size_t i = 0; i < paces.size(); ++i) {
        const auto& curve = record.trials[i].curve;
        if (paces[i] || curve.empty() || !curve.back().seconds || !std::isfinite(*curve.back().seconds)) continue;
        const double seconds = *curve.back().seconds;
        paces[i] = seconds > 2 * start ? (seconds - start) / static_cast<double>(curve.back().step) : typical;
    }
    return paces;
}

}  // namespace hpo
