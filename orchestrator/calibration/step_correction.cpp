#include "orchestrator/calibration/step_correction.hpp"

#include <cmath>
#include <vector>

#include "hpo/median.hpp"
#include "orchestrator/scheduling/throughput_curve.hpp"

namespace hpo {

StepCorrection step_correction(std::span<const PredictedAndMeasured> trials) {
    constexpr std::size_t all_count = 16;
    if (trials.size() > all_count) trials = trials.subspan(trials.size() / 2);
    std::vector<double> ratios;
    for (const auto& [predicted, measured] : trials)
        if (const double ratio = measured / predicted; predicted > 0 && measured > 0 && std::isfinite(ratio))
            ratios.push_back(std::log(ratio));
    if (ratios.empty()) return {};
    return {std::exp(median(ratios)), static_cast<std::int64_t>(ratios.size())};
}

void StepCorrections::add(const std::string& device, const std::string& kind, PredictedAndMeasured trial) {
    constexpr std::size_t most_kept = 32;
    auto& trials = trials_[{device, kind}];
    trials.push_back(trial);
    if (trials.size() > most_kept) trials.pop_front();
}

StepCorrection StepCorrections::of(const std::string& device, const std::string& kind) const {
    const auto found = trials_.find({device, kind});
    if (found == trials_.end()) return {};
    return step_correction(std::vector(found->second.begin(), found->second.end()));
}

}  // namespace hpo
