// hpo devices: lists the CPU and the GPUs of this machine, and the studies that use them.
#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "hpo/printable.hpp"
#include "hpo/units.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/worker_output.hpp"
#include "orchestrator/devices/assess.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/nvml.hpp"
#include "orchestrator/devices/selection.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/engine/runner.hpp"
#include "orchestrator/export/trial_json.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

using Json = nlohmann::ordered_json;
using view::Table;

/// The sum of what the running sessions have reserved and use on one device.
struct Reserved {
    std::int64_t bytes = 0, used = 0;  ///< of memory
    double cores = 0;
    std::set<std::string> studies;
};

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

struct Machine {
    Host host = read_host();
    std::int64_t available = available_memory();
    DeviceReadings readings;
    std::string problem;  ///< why GPUs could not be read; empty if they could
    Json libraries;       ///< CUDA libraries as the worker finds them; null if no device needs them
    std::vector<SessionReservations> sessions = read_sessions();
    std::vector<std::int64_t> ours;  ///< process ids of all processes of all sessions
    std::int64_t our_memory = 0;     ///< host memory that they use, in bytes
};

/// Returns the output of `hpo-worker --libraries`, or null if the worker prints nothing.
Json cuda_libraries() {
    const std::string text = worker_output({"--libraries"}).text;
    Json libraries = Json::parse(text, nullptr, false);
    return libraries.is_object() ? libraries : Json(nullptr);
}

Machine read_machine() {
    Machine machine;
    DeviceMonitor monitor({.program = installed_programs().hpo, .opencl = true});
    monitor.start(SteadyClock().now(),
                  [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", message.c_str()); });
    machine.readings = monitor.latest();
    machine.problem = machine.readings.problem.empty() ? gpu_without_driver() : machine.readings.problem;

    const auto is_cuda = [](const DeviceReading& device) { return device.kind == DeviceKind::cuda && !device.lost; };
    if (std::any_of(machine.readings.devices.begin(), machine.readings.devices.end(), is_cuda))
        machine.libraries = cuda_libraries();

    std::vector<std::int64_t> roots;
    for (const SessionReservations& session : machine.sessions) roots.push_back(session.pid);
    const auto process_trees = trees(roots);
    for (const auto& tree : process_trees) machine.ours.insert(machine.ours.end(), tree.begin(), tree.end());
    for (const std::int64_t bytes : tree_memory(process_trees)) machine.our_memory += bytes;
    return machine;
}

std::int64_t others_on_host(const Machine& machine) {
    return std::max<std::int64_t>(0, machine.host.memory - machine.available - machine.our_memory);
}

std::string names(const std::set<std::string>& studies) {
    std::string text;
    for (const std::string& study : studies) text += (text.empty() ? "" : ", ") + study;
    return text.empty() ? "-" : text;
}

std::string size_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

std::string number_text(double cores) {
    char text[32];
    std::snprintf(text, sizeof text, cores == std::floor(cores) ? "%.0f" : "%.1f", cores);
    return text;
}

std::string draw(const Machine& machine) {
    Table table({{"DEVICE"},
                 {"NAME"},
                 {"CORES", Table::Align::right},
                 {"MEMORY", Table::Align::right},
                 {"FREE", Table::Align::right},
                 {"OTHERS", Table::Align::right},
                 {"RESERVED", Table::Align::right},
                 {"STUDIES"},
                 {"UUID"}});
    const Reserved on_host = reserved_on(machine.sessions, "host");
    table.add({"host", printable(machine.host.cpu_name), number_text(machine.host.cores),
               size_text(machine.host.memory), size_text(machine.available), size_text(others_on_host(machine)),
               size_text(on_host.bytes), names(on_host.studies), "-"});
    std::string notes;
    for (const DeviceReading& device : machine.readings.devices) {
        const Reserved reserved = reserved_on(machine.sessions, device.id);
        const bool known = device.used && !device.lost && !device.unified;
        table.add({std::to_string(device.index),
                   printable(device.name) + (device.kind == DeviceKind::opencl ? " (OpenCL)" : ""), "-",
                   device.unified ? "host's" : size_text(device.memory),
                   known ? size_text(device.memory - *device.used) : "-",
                   known ? size_text(used_by_others(device, machine.ours, reserved.used)) : "-",
                   reserved.studies.empty() && device.unified ? "-" : size_text(reserved.bytes),
                   names(reserved.studies), printable(device.id)});
        if (device.lost) notes += printable(name_of(device)) + " cannot be used: " + printable(device.reason) + "\n";
    }
    if (machine.libraries.is_object())
        for (const auto& [library, consequence] :
             {std::pair("cuda", "the native worker cannot use the GPU through CUDA"),
              std::pair("nvrtc", "the native worker cannot use the GPU through CUDA"),
              std::pair("cublas", "the native worker multiplies by its own kernels, several times slower")}) {
            const Json found = machine.libraries.value(library, Json::object());
            if (found.contains("problem"))
                notes += std::string(consequence) + ": " + printable(found["problem"].get<std::string>()) + "\n";
        }
    if (machine.readings.devices.empty() && machine.problem.empty()) notes += "No GPU: trials run on the host.\n";
    return table.draw(view::screen_of_stdout()) + notes;
}

Json studies_json(const std::vector<SessionReservations>& sessions, const std::string& device) {
    Json all = Json::array();
    for (const SessionReservations& session : sessions)
        for (const DeviceReservation& reservation : session.devices)
            if (reservation.device == device)
                all.push_back({{"study", session.study},
                               {"pid", session.pid},
                               {"trials", reservation.trials},
                               {"booked", reservation.reserved},
                               {"used", reservation.used}});
    return all;
}

Json to_json(const Machine& machine) {
    const Reserved on_host = reserved_on(machine.sessions, "host");
    Json devices = Json::array();
    for (const DeviceReading& device : machine.readings.devices) {
        const Reserved reserved = reserved_on(machine.sessions, device.id);
        Json json{{"number", device.index},
                  {"uuid", device.id},
                  {"name", device.name},
                  {"kind", device.kind == DeviceKind::cuda ? "cuda" : "opencl"},
                  {"memory", device.memory},
                  {"free", nullptr},
                  {"others", nullptr},
                  {"booked", reserved.bytes},
                  {"unified", device.unified},
                  {"cpu", device.cpu},
                  {"lost", device.lost ? Json(device.reason) : Json(nullptr)},
                  {"studies", studies_json(machine.sessions, device.id)}};
        if (device.used && !device.lost) {
            json["free"] = device.memory - *device.used;
            json["others"] = used_by_others(device, machine.ours, reserved.used);
        }
        devices.push_back(std::move(json));
    }
    return {{"schema", json_schema},
            {"host",
             {{"name", host_name()},
              {"cpu", machine.host.cpu_name},
              {"cores", machine.host.cores},
              {"cores_booked", on_host.cores},
              {"memory", machine.host.memory},
              {"free", machine.available},
              {"others", others_on_host(machine)},
              {"booked", on_host.bytes},
              {"studies", studies_json(machine.sessions, "host")}}},
            {"devices", std::move(devices)},
            {"libraries", machine.libraries},
            {"problem", machine.problem.empty() ? Json(nullptr) : Json(machine.problem)}};
}

}  // namespace

CommandAction devices(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "One JSON object for programs; memory in bytes");
    return [json] {
        const Machine machine = read_machine();
        print(*json ? to_json(machine).dump(2, ' ', false, Json::error_handler_t::replace) + '\n' : draw(machine));
        if (!*json && !machine.problem.empty()) std::fprintf(stderr, "hpo: %s\n", printable(machine.problem).c_str());
        return 0;
    };
}

}  // namespace hpo::commands
