// Readings of this machine's GPUs as plain values. nvml.hpp and opencl.hpp make them in a helper process,
// device_codec.hpp transfers them, and monitor.hpp keeps them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpo {

enum class DeviceKind { cuda, opencl, metal };

/// "cuda", "opencl" or "metal".
constexpr const char* to_text(DeviceKind kind) {
    return kind == DeviceKind::cuda ? "cuda" : kind == DeviceKind::opencl ? "opencl" : "metal";
}

struct DeviceProcess {
    std::int64_t pid = 0;
    std::int64_t bytes = 0;  ///< of the device's memory
};

/// Activity of a device when it was read. Each value is absent where the driver does not report it.
struct DeviceActivity {
    std::optional<double> utilization;         ///< percent of the last period in which any kernel ran
    std::optional<double> memory_utilization;  ///< percent of the time in which the device's memory was read or written
    std::optional<double> power;               ///< watts
    std::optional<double> power_limit;         ///< watts that the driver enforces
    std::optional<double> temperature;         ///< degrees Celsius
    std::optional<double> clock;               ///< of the multiprocessors, in MHz
    std::optional<bool> throttled;             ///< true if power or heat lowers the clock
    std::optional<double> received, sent;      ///< bytes a second over PCIe
};

/// The state of one device when it was read. Sizes are in bytes.
struct DeviceReading {
    std::string id;    ///< UUID as the driver writes it, "GPU-8f6c..."; where a driver gives none, a stable name made
                       ///< from its properties
    std::string name;  ///< "NVIDIA H200"
    DeviceKind kind = DeviceKind::cuda;
    std::int64_t index = 0;            ///< its number in `hpo devices`; the driver's for CUDA devices
    std::int64_t opencl = -1;          ///< its number among OpenCL's devices; -1 if it is none
    std::string platform;              ///< OpenCL's name of its driver; empty for a device that OpenCL does not list
    std::int64_t memory = 0;           ///< installed; the driver's own needs count as used
    std::optional<std::int64_t> used;  ///< absent if the driver does not report it
    bool unified = false;              ///< true if it shares the host's memory
    bool cpu = false;                  ///< a CPU that OpenCL offers (PoCL); used only if a study names it
    /// Memory by process; absent where the driver hides it. Processes of other containers may be missing.
    std::optional<std::vector<DeviceProcess>> processes;
    std::string pci;  ///< "00000000:65:00.0"; empty if not known
    DeviceActivity activity;
    std::optional<std::int64_t> ecc_errors;  ///< uncorrectable memory errors since the driver or the device was reset
    bool lost = false;                       ///< cannot be used: off the bus, needs a reset, or memory errors
    std::string reason;                      ///< why it is lost
};

struct DeviceReadings {
    std::vector<DeviceReading> devices;
    /// One sentence, with the cure, if something is slow, fails, or is missing although there is a GPU. Empty if
    /// everything works, also where there is no GPU and no library.
    std::string problem;
    double age = 0;      ///< seconds since the devices were read
    bool stale = false;  ///< true if later readings failed; these are the last good ones then
};

}  // namespace hpo
