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
#include "orchestrator/doctor/machine_json.hpp"
#include "orchestrator/doctor/machine_reading.hpp"
#include "orchestrator/view/pools.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

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
    for (const SessionReservations& session : machine.sessions) {
        if (!session.waits.empty()) notes += printable(session.study) + " waits: " + printable(session.waits) + "\n";
        for (const DeviceReservation& one : session.devices)
            if (const std::string host = host_among_several(one); !host.empty())
                notes += printable(session.study) + " on " + printable(host) + ": " +
                         view::state_text(one.state, one.reason) + "\n";
    }
    for (const LibraryProblem& one : cuda_problems(machine.libraries))
        notes += one.follows + ": " + printable(one.problem) + "\n";
    if (machine.readings.devices.empty() && machine.problem.empty()) notes += "No GPU: trials run on the host.\n";
    return table.draw(view::screen_of_stdout()) + notes;
}

}  // namespace

CommandAction devices(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "One JSON object for programs; memory in bytes");
    return [json] {
        MachineReading machine = read_machine();
        if (has_cuda_device(machine)) machine.libraries = worker_json("--libraries");
        print(*json ? machine_json(machine).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'
                    : draw(machine));
        if (!*json && !machine.problem.empty()) std::fprintf(stderr, "hpo: %s\n", printable(machine.problem).c_str());
        return 0;
    };
}

}  // namespace hpo::commands
