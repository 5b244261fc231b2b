// Samples the host, its GPUs and one program at intervals. Reading costs a fraction of a millisecond: files of /proc
// and /sys here, and the GPUs in a helper process (devices/monitor.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/tree_meter.hpp"
#include "orchestrator/telemetry/host_counters.hpp"
#include "orchestrator/telemetry/sample.hpp"

namespace hpo {

class TelemetrySampler {
   public:
    /// `program` is `hpo`, which is executed to read the GPUs.
    TelemetrySampler(const std::filesystem::path& program, Host host);

    /// Waits for the first reading of the GPUs and begins the first interval. See DeviceMonitor::start().
    void start(Seconds now, const std::function<void(const std::string&)>& on_wait = {});

    /// Returns what happened since the last call or start(). `process` is the root of the program's process tree, or 0.
    /// To be called about once a second; `now` must not go back.
    TelemetrySample take(Seconds now, std::int64_t process = 0);

    /// Limits of the GPUs in watts, by source.
    [[nodiscard]] std::map<std::string, double> power_limits() const;
    [[nodiscard]] const Host& host() const { return host_; }
    /// Why GPUs cannot be read, with the cure; empty if they can, or if there is none.
    [[nodiscard]] const std::string& problem() const { return devices_.latest().problem; }

   private:
    void add_program(TelemetrySample& sample, std::int64_t process, double seconds);

    Host host_;
    DeviceMonitor devices_;
    TreeWatch trees_;
    HostCounters before_;
    std::optional<double> cpu_before_;  ///< seconds that the program's processes had used
};

}  // namespace hpo
