#include "orchestrator/calibration/step_correction.hpp"

#include <cmath>
#include <vector>

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

}  // namespace hpo
