// Says in words what a summary of telemetry shows: what limits the work, and which readings contradict each other.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/telemetry/summary.hpp"

namespace hpo {

/// What is known of the machine besides the samples.
struct VerdictContext {
    double cores = 1;  ///< CPU cores that programs may use
    /// Limits of devices in watts, by source ("gpu 0"); devices without a known limit are absent.
    std::map<std::string, double> power_limits{};
};

/// Returns sentences, the most important first, each with the figures that it follows from. Returns one sentence that
/// says so if there are too few samples (`least_samples`) to judge.
///
/// A GPU's utilization is the share of time in which any kernel ran, however small (NVML API reference,
/// nvmlUtilization_t). So 0 % under load is contradicted by power, clock, memory traffic or a rate of training, and
/// 100 % at low power means small kernels.
std::vector<std::string> verdict(const TelemetrySummary& summary, const VerdictContext& context);

inline constexpr std::size_t least_samples = 5;
bool enough_for_a_verdict(const TelemetrySummary& summary);

}  // namespace hpo
