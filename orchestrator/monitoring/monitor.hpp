// Samples the machine's load for a time or while a program runs, and finds the bottleneck, for hpo monitor.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/telemetry/sample.hpp"
#include "orchestrator/telemetry/summary.hpp"

namespace hpo {

struct MonitorPlan {
    double longest = 0;                ///< seconds after which monitoring ends
    double interval = 1;               ///< seconds between two samples
    std::string csv;                   ///< new file for each value; empty: none
    std::vector<std::string> command;  ///< program to run in the foreground; empty: none
};

struct MonitorResult {
    double seconds = 0;
    TelemetrySummary summary;
    std::vector<std::string> verdict;
    std::string problem;        ///< why GPUs cannot be read; empty if they can or there are none
    std::optional<int> status;  ///< the program's exit status
    int signal = 0;             ///< the signal that ended the monitoring, or 0
};

/// Samples until the time is over, the program ends, or a signal comes. `show` gets each sample with the seconds since
/// the begin. Throws Fatal if the program cannot be started or the file cannot be written.
MonitorResult monitor_machine(const MonitorPlan& plan,
                              const std::function<void(const TelemetrySample& sample, double seconds)>& show);

/// Returns the telemetry that a study's database has stored while its trials trained. Throws Fatal if there is none.
MonitorResult monitored_study(const StudySnapshot& snapshot);

/// Returns the object of hpo monitor --json (docs/json.md).
nlohmann::ordered_json monitor_json(const MonitorResult& result);

}  // namespace hpo
