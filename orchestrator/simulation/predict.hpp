// Predicts how long a study takes on other hardware, by simulating it several times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/simulation/hardware.hpp"
#include "orchestrator/simulation/recorded.hpp"
#include "orchestrator/simulation/simulate.hpp"

namespace hpo {

/// Nine of ten simulations lie between low and high.
struct PredictedRange {
    double low = 0, middle = 0, high = 0;
};

struct TimePrediction {
    PredictedRange seconds, busy, steps, complete, stopped, diverged, failed;
    std::optional<PredictedRange> cost;  ///< absent without a price
    std::int64_t trials = 0;             ///< of the middle simulation
    std::int64_t at_once = 0;
    std::int64_t simulations = 0;
    std::string reason;  ///< why the study ended in most simulations
};

/// A prediction for users.
struct PredictionReport {
    Study study;
    Hardware hardware;
    TimePrediction prediction;
    std::vector<std::string> basis;  ///< the facts that it rests on, a sentence each
    std::optional<double> took;      ///< seconds of the study, if it has run to its end on this hardware
};

/// The hardware on which a study has run.
Hardware hardware_of(const Study& study, const RecordedRun& run);

/// Returns the machine for `share` (0 to 1) of the way through ranges of speed. Fails if a device has no speed and no
/// memory, or if a trial of the study cannot use it.
Result<SimulatedMachine> simulated_machine(const Study& study, const Hardware& hardware, const RecordedRun& run,
                                           double share);

struct PredictionPlan {
    std::int64_t simulations = 16;  ///< at most
    double patience = 20;           ///< seconds after which no further simulation begins
};

using MakeWorkload = std::function<std::unique_ptr<Workload>(std::uint64_t draw)>;

/// `workload` makes the trials of simulation number `draw`. Fails as simulate() does.
Result<TimePrediction> predict(const Study& study, const std::vector<PriorStudy>& priors, const Hardware& hardware,
                               const RecordedRun& run, const MakeWorkload& workload, const PredictionPlan& plan = {});

}  // namespace hpo
