#include "orchestrator/doctor/machine_json.hpp"

#include <nlohmann/json.hpp>

#include "orchestrator/devices/assess.hpp"
#include "orchestrator/devices/selection.hpp"
#include "orchestrator/output/trial_json.hpp"

namespace hpo {

namespace {

using Json = nlohmann::ordered_json;

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

Json kinds_json(const std::vector<CoreKind>& kinds) {
    Json all = Json::array();
    for (const CoreKind& kind : kinds) all.push_back({{"name", kind.name}, {"cores", kind.cores}});
    return all;
}

}  // namespace

nlohmann::ordered_json machine_json(const MachineReading& machine) {
    const Reserved on_host = reserved_on(machine.sessions, "host");
    Json devices = Json::array();
    for (const DeviceReading& device : machine.readings.devices) {
        const Reserved reserved = reserved_on(machine.sessions, device.id);
        Json json{{"number", device.index},
                  {"uuid", device.id},
                  {"name", device.name},
                  {"kind", to_text(device.kind)},
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
              {"kinds", kinds_json(machine.host.kinds)},
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

}  // namespace hpo
