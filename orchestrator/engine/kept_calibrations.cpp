#include "orchestrator/engine/kept_calibrations.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "hpo/printable.hpp"
#include "hpo/user_cache.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/worker_output.hpp"

namespace hpo {

namespace {

/// Returns true if the present worker, which prints its identity here, made the CPU's calibration. GPUs are not
/// checked, as the start of a worker on one takes seconds.
bool is_current(const DeviceCalibration& cpu) {
    int lines = 0;
    const WorkerOutput output = worker_output({"--calibrate", cpu.identity, "--quick"}, {{"HPO_BACKEND", "cpu"}}, false,
                                              [&](std::string_view) { ++lines; });
    return output.status != 0 || lines <= 1;
}

}  // namespace

KeptCalibrations kept_calibrations() {
    KeptCalibrations all;
    const std::filesystem::path cache = user_cache();
    if (cache.empty()) return all;
    const std::string machine = host_name() + ", " + read_host().cpu_name;
    std::error_code failed;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(cache / "calibration", failed))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        const auto kept = load_calibration(file, machine);
        if (!kept) {
            all.refused.push_back("the measurements in " + printable(file.string()) +
                                  " are not used: they are of another machine, or damaged; hpo bench devices measures "
                                  "this one");
            continue;
        }
        // calibration_file() composes the file's name from those of the machine and the device, and the device's
        // identifier.
        std::string device = "cpu";
        const std::string name = file.filename().string();
        for (const char* backend : {"cuda", "opencl"})
            if (const auto at = name.find(std::string("-") + backend + "_"); at != std::string::npos)
                device = std::string(backend) + ' ' + name.substr(at + std::string(backend).size() + 2, 1);
        auto read = read_calibration(kept->lines, device);
        if (!read) continue;
        if (device == "cpu" && !is_current(*read))
            all.refused.push_back("the measurements of " + printable(read->name) +
                                  " are not used: the worker, its libraries or the processor have changed since; hpo "
                                  "bench devices measures it again");
        else
            all.devices.push_back(std::move(*read));
    }
    return all;
}

}  // namespace hpo
