// NVIDIA's management library: loaded at run time, its stable C interface declared in nvml.cpp. Any call may hang or
// crash with the driver: for the helper process alone.
#pragma once

#include <filesystem>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/devices/device.hpp"

namespace hpo {

/// The environment variable that names the library where the driver lies elsewhere.
inline constexpr const char* nvml_variable = "HPO_NVML_LIBRARY";

/// Whether this machine runs NVIDIA's driver (or `nvml_variable` is set), so that the library should be there.
bool nvidia_driver_expected();

/// A sentence when an NVIDIA GPU is in this machine and no NVIDIA driver is; else empty. `root` is prepended to /proc
/// and /sys.
std::string gpu_without_driver(const std::filesystem::path& root = "/");

class Nvml {
   public:
    /// Loads `nvml_variable`, or libnvidia-ml.so.1; the error says what to do.
    static Result<Nvml> load();

    /// Of every device this user may see. One that does not answer is there with what is known of it (perhaps its index
    /// alone) and `lost`.
    DeviceReadings read();

   private:
    struct Library;
    explicit Nvml(Library* library) : library_(library) {}
    DeviceReading read_device(unsigned index);

    Library* library_;  // never unloaded: drivers leave threads and handlers behind
    bool ready_ = false;
};

}  // namespace hpo
