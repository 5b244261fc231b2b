#include "orchestrator/devices/metal.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "orchestrator/devices/apple.hpp"
#include "orchestrator/devices/host.hpp"

namespace hpo {
namespace {

const char* file_of_properties() {
    const char* named = std::getenv(accelerators_variable);
    return named && *named ? named : nullptr;
}

}  // namespace

bool metal_expected() { return file_of_properties() || has_io_kit(); }

DeviceReadings read_metal() {
    DeviceReadings readings;
    std::optional<std::string> properties;
    if (const char* named = file_of_properties()) {
        std::ifstream file(named);
        std::ostringstream text;
        if (file && text << file.rdbuf()) properties = text.str();
    } else {
        properties = accelerator_properties();
    }
    auto devices =
        properties ? accelerators_of(*properties, gpu_ceiling(read_host().memory, gpu_wired_limit())) : std::nullopt;
    if (devices)
        readings.devices = *std::move(devices);
    else
        readings.problem = "macOS does not tell which GPU there is: see what ioreg -r -c IOAccelerator prints";
    return readings;
}

}  // namespace hpo
