#include "orchestrator/simulation/pace.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {

namespace {

double middle_of(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

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
    const double typical = middle_of(known), start = starts.empty() ? 0 : middle_of(starts);
    for (std::size_t i = 0; i < paces.size(); ++i) {
        const auto& curve = record.trials[i].curve;
        if (paces[i] || curve.empty() || !curve.back().seconds || !std::isfinite(*curve.back().seconds)) continue;
        const double seconds = *curve.back().seconds;
        paces[i] = seconds > 2 * start ? (seconds - start) / static_cast<double>(curve.back().step) : typical;
    }
    return paces;
}

}  // namespace hpo
