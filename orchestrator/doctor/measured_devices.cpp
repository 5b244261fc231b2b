#include "orchestrator/doctor/measured_devices.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "hpo/clock.hpp"
#include "hpo/printable.hpp"
#include "hpo/user_cache.hpp"
#include "orchestrator/devices/assess.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/doctor/machine_reading.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo {

BenchDevices bench_devices(const std::string& backend) {
    const auto wanted = [&](const char* name) { return backend.empty() || backend == name; };
    BenchDevices devices;
    if (wanted("cpu")) devices.usable.push_back({"cpu", read_host().cpu_name, {{"HPO_BACKEND", "cpu"}}});
    DeviceMonitor monitor({.program = installed_programs().hpo, .opencl = wanted("opencl")});
    monitor.start(SteadyClock().now(),
                  [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", message.c_str()); });
    for (const DeviceReading& device : monitor.latest().devices) {
        if (device.lost && wanted(to_text(device.kind)))
            devices.lost.push_back(printable(name_of(device) + " cannot be used: " + device.reason, 300));
        if (device.lost) continue;
        if (device.kind == DeviceKind::cuda && wanted("cuda"))
            devices.usable.push_back(
                {bench_name(device), device.id, {{"HPO_BACKEND", "cuda"}, {"CUDA_VISIBLE_DEVICES", device.id}}});
        else if (device.kind == DeviceKind::opencl && wanted("opencl") && (!device.cpu || backend == "opencl"))
            devices.usable.push_back({bench_name(device),
                                      device.id,
                                      {{"HPO_BACKEND", "opencl"}, {"HPO_DEVICE", std::to_string(device.opencl)}}});
    }
    if (!monitor.latest().problem.empty())
        std::fprintf(stderr, "hpo: %s\n", printable(monitor.latest().problem).c_str());
    return devices;
}

std::optional<DeviceCalibration> measured(const BenchDevice& device, const MeasuringOptions& options) {
    const std::string machine = host_name() + ", " + read_host().cpu_name;
    const std::filesystem::path cache = user_cache();
    const auto file = cache.empty() ? cache : calibration_file(cache, host_name(), device.name, device.id);
    const auto kept = options.again || options.quick || cache.empty() ? std::nullopt : load_calibration(file, machine);
    const bool show_progress = ::isatty(STDERR_FILENO) == 1;
    int results = 0;
    std::vector<std::string> words{"--calibrate", kept ? kept->identity : ""};
    if (options.quick) words.emplace_back("--quick");
    const WorkerOutput output = worker_output(words, device.environment, false, [&](std::string_view) {
        ++results;
        if (show_progress) std::fprintf(stderr, "\rmeasuring %s: %d results ", device.name.c_str(), results);
    });
    if (show_progress) std::fprintf(stderr, "\r\033[K");
    // The worker prints a single line if the device's identity has not changed.
    const bool unchanged = kept && output.status == 0 && results == 1;
    auto read = read_calibration(unchanged ? kept->lines : output.text, device.name);
    if (output.status != 0 || !read) {
        const WorkerOutput failure = worker_output(words, device.environment, true);
        const std::string text =
            output.status != 0 ? failure.text.substr(0, failure.text.find('\n')) : read.error().message;
        std::fprintf(stderr, "hpo: %s was not measured: %s\n", device.name.c_str(), printable(text, 300).c_str());
        return std::nullopt;
    }
    if (!unchanged && !options.quick && !cache.empty())
        if (const auto saved = save_calibration(file, machine, output.text); !saved)
            std::fprintf(stderr, "hpo: %s\n", saved.error().message.c_str());
    return std::move(*read);
}

}  // namespace hpo
