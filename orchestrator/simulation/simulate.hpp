// Runs a study with the engine of `hpo run` (sampling, stopping, placing, retries) under a virtual clock, on simulated
// devices, with simulated trials.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/sampling/prior_study.hpp"
#include "orchestrator/scheduling/machine.hpp"
#include "orchestrator/simulation/workload.hpp"

namespace hpo {

/// The machine on which a simulation places trials.
struct SimulatedMachine {
    Machine machine;
    int workers = 1;                                ///< at once
    std::vector<double> speed;                      ///< of each accelerator, else one entry for a core; 1: as measured
    std::vector<std::vector<double>> throughput{};  ///< of each accelerator: DeviceGroup::throughput
    double launch = 0;                              ///< seconds from starting a worker until it is ready
    double exit = 0;                                ///< seconds from asking it to leave until it is gone
    bool asks = true;                               ///< workers answer `plan`, as the native one does
    bool checkpoints = true;                        ///< a paused trial resumes at its last step
};

struct SimulatedEnd {
    double seconds = 0;       ///< of the session, by the virtual clock
    double busy = 0;          ///< share of that time in which a core or an accelerator trained, on average
    std::int64_t trials = 0;  ///< proposed
    std::int64_t complete = 0, stopped = 0, diverged = 0, failed = 0;
    std::int64_t steps = 0;  ///< trained, over all attempts
    std::int64_t most_at_once = 0;
    std::int64_t decisions = 0;  ///< rounds in which the engine looked for a trial to start
    double best = 0;             ///< value of the best trial, if there is one
    bool has_best = false;
    std::string reason;  ///< why the study ended, as `hpo run` says
};

/// Fails if the sampler or the rules cannot be made, if no trial can run on the machine, or if the study fails as it
/// would in `hpo run`; the reason is in the text. `on_event` is called with each event, at its virtual time.
Result<SimulatedEnd> simulate(const Study& study, const std::vector<PriorStudy>& priors,
                              const SimulatedMachine& machine, const Workload& workload,
                              const std::function<void(const StoredEvent&)>& on_event = {});

}  // namespace hpo
