// Reads devices through NVIDIA's management library, which is loaded at run time; nvml.cpp declares its stable C
// interface. Each call may hang or crash with the driver, so only the helper process uses this.
#pragma once

#include <filesystem>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/devices/device.hpp"

namespace hpo {

/// Environment variable with the path of the library, where it is not in the usual place.
inline constexpr const char* nvml_variable = "HPO_NVML_LIBRARY";

/// Returns true if this machine runs NVIDIA's driver (or `nvml_variable` is set), so that the library should be there.
bool nvidia_driver_expected();

/// Returns a sentence if this machine has an NVIDIA GPU but no NVIDIA driver; otherwise an empty text. `root` is
/// prepended to /proc and /sys.
std::string gpu_without_driver(const std::filesystem::path& root = "/");

class Nvml {
   public:
    /// Loads the library that `nvml_variable` names, or libnvidia-ml.so.1. The error names the cure.
    static Result<Nvml> load();

    /// Reads every device that this user may see. A device that does not answer is listed as lost with its known
    /// properties, perhaps its index only.
    DeviceReadings read();

   private:
    struct Library;
    explicit Nvml(Library* library) : library_(library) {}
    DeviceReading read_device(unsigned index);

    Library* library_;  // never unloaded: the driver leaves threads and handlers behind
    bool ready_ = false;
};

}  // namespace hpo
