// What is known of the GPUs of this machine. Plain values: read by nvml.hpp and opencl.hpp in a helper process, carried
// by device_codec.hpp, kept by monitor.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpo {

enum class DeviceKind { cuda, opencl };

struct DeviceProcess {
    std::int64_t pid = 0;
    std::int64_t bytes = 0;  ///< of the device's memory
};

/// One device at one moment. Bytes.
struct DeviceReading {
    std::string id;    ///< UUID as the driver writes it, "GPU-8f6c..."; made up, but stable, where a driver has none
    std::string name;  ///< "NVIDIA H200"
    DeviceKind kind = DeviceKind::cuda;
    std::int64_t index = 0;            ///< its number in `hpo devices`; of CUDA devices, the driver's
    std::int64_t opencl = -1;          ///< its number among OpenCL's devices; -1: it is not one of them
    std::int64_t memory = 0;           ///< installed; what the driver keeps for itself counts as used
    std::optional<std::int64_t> used;  ///< absent: the driver does not say
    bool unified = false;              ///< its memory is the host's: one pool
    bool cpu = false;                  ///< a CPU that OpenCL offers (PoCL): a study never uses it unasked
    /// Who holds how much; absent where the driver hides it. Processes of other containers may be missing.
    std::optional<std::vector<DeviceProcess>> processes;
    std::string pci;                         ///< "00000000:65:00.0"; empty: not known
    std::optional<std::int64_t> ecc_errors;  ///< uncorrectable memory errors since the driver or the device was reset
    bool lost = false;                       ///< cannot be used: fallen off the bus, needs a reset, or its memory erred
    std::string reason;                      ///< why it is lost, as text
};

struct DeviceReadings {
    std::vector<DeviceReading> devices;
    /// One sentence when something is slow or fails, or is absent where a GPU is; it names the cure. Empty: all is
    /// well, also where there is no GPU and no library.
    std::string problem;
    double age = 0;      ///< seconds since they were taken
    bool stale = false;  ///< newer ones are missing: these are the last good ones
};

}  // namespace hpo
