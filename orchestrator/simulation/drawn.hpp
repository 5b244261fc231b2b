// A workload without measurements: trials whose costs and curves are drawn from ranges.
#pragma once

#include "hpo/study.hpp"
#include "orchestrator/simulation/hardware.hpp"
#include "orchestrator/simulation/workload.hpp"

namespace hpo {

/// Ranges that hold for all trials; each trial draws its own numbers, evenly over magnitudes.
struct DrawnTrials {
    Span step{1, 1};   ///< seconds of a step
    Span start{0, 0};  ///< seconds until the first step
    Span end{0, 0};    ///< seconds after the last one
    Span host_bytes{0, 0};
    Span device_bytes{0, 0};
    double cores = 1;
    Span first{0.1, 0.1};  ///< value of the objective before the first step
    Span last{0.7, 0.9};   ///< value that it approaches
    Span pace{1, 3};       ///< steps until 63 % of the way is done
    double noise = 0;      ///< of a step's value, on either side
};

class DrawnWorkload final : public Workload {
   public:
    DrawnWorkload(const Study& study, const DrawnTrials& trials, std::uint64_t draw)
        : study_(study), trials_(trials), seed_(study.seed + (draw << 32)) {}
    [[nodiscard]] TrialCost cost(const TrialRecord& trial) const override;
    [[nodiscard]] double step_seconds(const TrialRecord& trial, std::int64_t step) const override;
    [[nodiscard]] Metrics metrics(const TrialRecord& trial, std::int64_t step) const override;

   private:
    [[nodiscard]] double draw(const TrialRecord& trial, std::uint64_t element) const;

    const Study& study_;
    DrawnTrials trials_;
    std::uint64_t seed_;
};

}  // namespace hpo
