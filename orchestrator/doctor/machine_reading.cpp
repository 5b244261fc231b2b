#include "orchestrator/doctor/machine_reading.hpp"

#include <algorithm>
#include <cstdio>

#include "hpo/clock.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/nvml.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo {

MachineReading read_machine() {
    MachineReading machine;
    machine.host = read_host();
    machine.available = available_memory();
    machine.sessions = read_sessions();
    DeviceMonitor monitor({.program = installed_programs().hpo, .opencl = true});
    monitor.start(SteadyClock().now(),
                  [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", message.c_str()); });
    machine.readings = monitor.latest();
    machine.problem = machine.readings.problem.empty() ? gpu_without_driver() : machine.readings.problem;

    std::vector<std::int64_t> roots;
    for (const SessionReservations& session : machine.sessions) roots.push_back(session.pid);
    const auto process_trees = trees(roots);
    for (const auto& tree : process_trees) machine.ours.insert(machine.ours.end(), tree.begin(), tree.end());
    for (const std::int64_t bytes : tree_memory(process_trees)) machine.our_memory += bytes;
    return machine;
}

std::string bench_name(const DeviceReading& device) {
    return to_text(device.kind) + (' ' + std::to_string(device.index));
}

bool has_cuda_device(const MachineReading& machine) {
    return std::any_of(machine.readings.devices.begin(), machine.readings.devices.end(),
                       [](const DeviceReading& device) { return device.kind == DeviceKind::cuda && !device.lost; });
}

nlohmann::ordered_json worker_json(const char* option) {
    auto json = nlohmann::ordered_json::parse(worker_output({option}).text, nullptr, false);
    return json.is_object() ? json : nlohmann::ordered_json(nullptr);
}

std::vector<LibraryProblem> cuda_problems(const nlohmann::ordered_json& libraries) {
    std::vector<LibraryProblem> problems;
    if (!libraries.is_object()) return problems;
    const char* without_cuda = "the native worker cannot use the GPU through CUDA";
    for (const auto& [library, follows] :
         {std::pair("cuda", without_cuda), std::pair("nvrtc", without_cuda), std::pair("nvrtc_builtins", without_cuda),
          std::pair("cublas", "the native worker multiplies by its own kernels, several times slower")}) {
        const auto found = libraries.value(library, nlohmann::ordered_json::object());
        if (found.contains("problem")) problems.push_back({library, follows, found["problem"].get<std::string>()});
    }
    return problems;
}

Reserved reserved_on(const std::vector<SessionReservations>& sessions, const std::string& device) {
    Reserved all;
    for (const SessionReservations& session : sessions)
        for (const DeviceReservation& reservation : session.devices)
            if (reservation.device == device) {
                all.bytes += reservation.reserved;
                all.used += reservation.used;
                all.cores += reservation.cores;
                all.studies.insert(printable(session.study));
            }
    return all;
}

std::string host_among_several(const DeviceReservation& reservation) {
    const auto& name = reservation.device;
    return name.ends_with("/host") ? name.substr(0, name.size() - std::string_view("/host").size()) : "";
}

std::int64_t others_on_host(const MachineReading& machine) {
    return std::max<std::int64_t>(0, machine.host.memory - machine.available - machine.our_memory);
}

}  // namespace hpo
