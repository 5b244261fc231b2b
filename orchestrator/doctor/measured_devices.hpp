// Measures the speed of this machine's devices with the worker, and keeps the results (calibration.hpp).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/calibration/calibration.hpp"

namespace hpo {

/// A device to measure, and the environment that makes a worker use it.
struct BenchDevice {
    std::string name;  ///< "cpu", "cuda 0", "opencl 1"
    std::string id;    ///< UUID or name, used in the name of the stored file
    std::map<std::string, std::string> environment;
};

struct BenchDevices {
    std::vector<BenchDevice> usable;
    std::vector<std::string> lost;  ///< a sentence for each device that cannot be used, with the reason
};

/// Returns the CPU and all GPUs, or the devices of one backend. OpenCL CPUs are included only if `backend` is opencl.
/// Prints why devices cannot be read, if they cannot.
BenchDevices bench_devices(const std::string& backend);

struct MeasuringOptions {
    bool again = false;  ///< measure even if nothing has changed since the last time
    bool quick = false;  ///< measure fewer products for a shorter time, and keep nothing
};

/// Returns the stored measurements of a device if they are still valid, and measures it otherwise. If that fails,
/// prints a message and returns nothing. Shows progress if standard error is a terminal.
std::optional<DeviceCalibration> measured(const BenchDevice& device, const MeasuringOptions& options);

}  // namespace hpo
