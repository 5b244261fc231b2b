// Explains a summary of telemetry in sentences: the bottleneck of the work, and readings that contradict each other.
// Does no I/O.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/telemetry/summary.hpp"

namespace hpo {

/// Facts about the machine that the samples do not contain.
struct VerdictContext {
    double cores = 1;  ///< CPU cores that programs may use
    /// Power limits of devices in watts, by source ("gpu 0"). Devices without a known limit are absent.
    std::map<std::string, double> power_limits{};
    /// True for the native worker, whose trials use no more cores than there are.
    bool within_cores = false;
};

/// Returns sentences, the most important first, each with the figures that support it. If there are fewer samples than
/// `least_samples`, returns a single sentence that states this.
///
/// A GPU's utilization is the share of time in which any kernel ran, however small (NVML API reference,
/// nvmlUtilization_t). So power, memory traffic or a training speed can contradict a reading of 0 %, and 100 % at low
/// power means small kernels.
std::vector<std::string> verdict(const TelemetrySummary& summary, const VerdictContext& context);

inline constexpr std::size_t least_samples = 5;
bool enough_for_a_verdict(const TelemetrySummary& summary);

}  // namespace hpo
