// hpo devices: lists the CPU and the GPUs of this machine, and the studies that use them.
#include <CLI/App.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/devices/assess.hpp"
#include "orchestrator/devices/selection.hpp"
#include "orchestrator/doctor/machine_reading.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/view/pools.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

using Json = nlohmann::ordered_json;
using view::Table;

std::string names(const std::set<std::string>& studies) {
    std::string text;
    for (const std::string& study : studies) text += (text.empty() ? "" : ", ") + study;
    return text.empty() ? "-" : text;
}

std::string number_text(double cores) {
    char text[32];
    std::snprintf(text, sizeof text, cores == std::floor(cores) ? "%.0f" : "%.1f", cores);
    return text;
}

/// Returns the name of the host if the reservation is of one that a session has beside others.
std::string host_among_several(const DeviceReservation& reservation) {
    const auto& name = reservation.device;
    return name.ends_with("/host") ? name.substr(0, name.size() - std::string_view("/host").size()) : "";
}

std::string draw(const MachineReading& machine) {
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
    for (const SessionReservations& session : machine.sessions)
        for (const DeviceReservation& one : session.devices)
            if (const std::string host = host_among_several(one); !host.empty())
                notes += printable(session.study) + " on " + printable(host) + ": " +
                         view::state_text(one.state, one.reason) + "\n";
    for (const LibraryProblem& one : cuda_problems(machine.libraries))
        notes += one.follows + ": " + printable(one.problem) + "\n";
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
                               {"reserved", reservation.reserved},
                               {"used", reservation.used}});
    return all;
}

Json hosts_json(const std::vector<SessionReservations>& sessions) {
    Json all = Json::array();
    for (const SessionReservations& session : sessions)
        for (const DeviceReservation& one : session.devices)
            if (const std::string host = host_among_several(one); !host.empty())
                all.push_back({{"study", session.study},
                               {"pid", session.pid},
                               {"host", host},
                               {"state", one.state},
                               {"reason", one.reason.empty() ? Json(nullptr) : Json(one.reason)},
                               {"trials", one.trials},
                               {"reserved", one.reserved},
                               {"used", one.used}});
    return all;
}

Json to_json(const MachineReading& machine) {
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
                  {"reserved", reserved.bytes},
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
              {"cores_reserved", on_host.cores},
              {"memory", machine.host.memory},
              {"free", machine.available},
              {"others", others_on_host(machine)},
              {"reserved", on_host.bytes},
              {"studies", studies_json(machine.sessions, "host")}}},
            {"devices", std::move(devices)},
            {"hosts", hosts_json(machine.sessions)},
            {"libraries", machine.libraries},
            {"problem", machine.problem.empty() ? Json(nullptr) : Json(machine.problem)}};
}

}  // namespace

CommandAction devices(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "One JSON object for programs; memory in bytes");
    return [json] {
        MachineReading machine = read_machine();
        if (has_cuda_device(machine)) machine.libraries = worker_json("--libraries");
        print(*json ? to_json(machine).dump(2, ' ', false, Json::error_handler_t::replace) + '\n' : draw(machine));
        if (!*json && !machine.problem.empty()) std::fprintf(stderr, "hpo: %s\n", printable(machine.problem).c_str());
        return 0;
    };
}

}  // namespace hpo::commands
