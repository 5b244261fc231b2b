// The costs and learning curves of a simulation's trials.
#pragma once

#include <cstdint>
#include <string>

#include "hpo/footprint.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// The costs of an attempt in seconds, on the device where the workload was measured.
struct TrialCost {
    double start = 0;               ///< from the order to train until the first step begins
    double between = 0;             ///< from the end of a step until the next one begins
    double end = 0;                 ///< from the end of the last step until the worker is free
    Footprint footprint;            ///< as a worker would answer, or be seen to take
    std::int64_t iterations = 0;    ///< optimizer updates a step; 0: not known
    std::int64_t fails_after = -1;  ///< steps after which the trial fails; negative: it does not
    std::string failure;            ///< as its worker reports it
};

class Workload {
   public:
    virtual ~Workload() = default;
    /// Returns the cost of a proposed trial. The same trial always has the same cost.
    [[nodiscard]] virtual TrialCost cost(const TrialRecord& trial) const = 0;
    /// Returns the seconds of a step, on the device where the workload was measured, with nothing else on it.
    [[nodiscard]] virtual double step_seconds(const TrialRecord& trial, std::int64_t step) const = 0;
    /// Returns the metrics that the trial reports with this step.
    [[nodiscard]] virtual Metrics metrics(const TrialRecord& trial, std::int64_t step) const = 0;
};

}  // namespace hpo
