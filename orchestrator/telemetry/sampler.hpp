// Samples the host, GPUs and one program periodically. A sample reads files in /proc and /sys, which takes a fraction
// of a millisecond. The caller owns the DeviceMonitor that reads the GPUs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "hpo/clock.hpp"
#include "orchestrator/devices/device.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/tree_meter.hpp"
#include "orchestrator/telemetry/host_counters.hpp"
#include "orchestrator/telemetry/sample.hpp"

namespace hpo {

class TelemetrySampler {
   public:
    /// Begins the first interval.
    TelemetrySampler(Host host, Seconds now);

    /// Returns the activity since the last call, and the state of `devices`. `process` is the root of the program's
    /// process tree, or 0 if there is none, and `source` its name in the sample. Should be called about once a second.
    /// `now` must not decrease.
    TelemetrySample take(Seconds now, const DeviceReadings& devices, std::int64_t process = 0,
                         const std::string& source = "program");

   private:
    void add_program(TelemetrySample& sample, std::int64_t process, const std::string& source, double seconds);

    Host host_;
    TreeWatch trees_;
    HostCounters before_;
    std::optional<double> cpu_before_;  ///< CPU seconds of the program's processes at the last call
};

/// Returns the power limits of the GPUs in watts, by source ("gpu 0").
std::map<std::string, double> power_limits(const DeviceReadings& devices);

}  // namespace hpo
