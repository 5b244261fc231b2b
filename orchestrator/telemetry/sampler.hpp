// Samples the host, GPUs and one program at intervals. Reading costs a fraction of a millisecond: files of /proc and
// /sys. GPUs are read by a DeviceMonitor, which belongs to the caller.
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

    /// Returns what happened since the last call, and what `devices` were doing. `process` is the root of the program's
    /// process tree, or 0. To be called about once a second; `now` must not go back.
    TelemetrySample take(Seconds now, const DeviceReadings& devices, std::int64_t process = 0);

   private:
    void add_program(TelemetrySample& sample, std::int64_t process, double seconds);

    Host host_;
    TreeWatch trees_;
    HostCounters before_;
    std::optional<double> cpu_before_;  ///< seconds that the program's processes had used
};

/// Limits of the GPUs in watts, by source ("gpu 0").
std::map<std::string, double> power_limits(const DeviceReadings& devices);

}  // namespace hpo
