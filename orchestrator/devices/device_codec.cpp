#include "orchestrator/devices/device_codec.hpp"

#include <nlohmann/json.hpp>

namespace hpo {

using Json = nlohmann::json;

namespace {

/// The numbers of an activity, with the names that they have in a line.
template <class Activity, class F>
void each_number(Activity& activity, F&& visit) {
    visit("utilization", activity.utilization);
    visit("memory_utilization", activity.memory_utilization);
    visit("power", activity.power);
    visit("power_limit", activity.power_limit);
    visit("temperature", activity.temperature);
    visit("clock", activity.clock);
    visit("received", activity.received);
    visit("sent", activity.sent);
}

DeviceKind kind_of(const std::string& text) {
    for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::opencl})
        if (text == to_text(kind)) return kind;
    return DeviceKind::metal;
}

}  // namespace

std::string to_line(const DeviceReadings& readings) {
    Json devices = Json::array();
    for (const DeviceReading& device : readings.devices) {
        Json json{{"id", device.id},         {"name", device.name},     {"kind", to_text(device.kind)},
                  {"index", device.index},   {"memory", device.memory}, {"unified", device.unified},
                  {"cpu", device.cpu},       {"pci", device.pci},       {"lost", device.lost},
                  {"reason", device.reason}, {"opencl", device.opencl}, {"platform", device.platform}};
        if (device.used) json["used"] = *device.used;
        if (device.ecc_errors) json["ecc"] = *device.ecc_errors;
        each_number(device.activity, [&](const char* name, const std::optional<double>& value) {
            if (value) json[name] = *value;
        });
        if (device.activity.throttled) json["throttled"] = *device.activity.throttled;
        if (device.processes) {
            json["processes"] = Json::array();
            for (const DeviceProcess& process : *device.processes)
                json["processes"].push_back(Json::array({process.pid, process.bytes}));
        }
        devices.push_back(std::move(json));
    }
    return Json{{"devices", std::move(devices)}, {"problem", readings.problem}}.dump(-1, ' ', false,
                                                                                     Json::error_handler_t::replace);
}

std::optional<DeviceReadings> readings_of(std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    try {
        DeviceReadings readings;
        readings.problem = json.at("problem").get<std::string>();
        for (const Json& from : json.at("devices")) {
            DeviceReading device;
            device.id = from.at("id").get<std::string>();
            device.name = from.at("name").get<std::string>();
            device.kind = kind_of(from.at("kind").get<std::string>());
            device.index = from.at("index").get<std::int64_t>();
            device.memory = from.at("memory").get<std::int64_t>();
            device.unified = from.at("unified").get<bool>();
            device.cpu = from.at("cpu").get<bool>();
            device.pci = from.at("pci").get<std::string>();
            device.lost = from.at("lost").get<bool>();
            device.reason = from.at("reason").get<std::string>();
            device.opencl = from.at("opencl").get<std::int64_t>();
            device.platform = from.at("platform").get<std::string>();
            if (from.contains("used")) device.used = from["used"].get<std::int64_t>();
            if (from.contains("ecc")) device.ecc_errors = from["ecc"].get<std::int64_t>();
            each_number(device.activity, [&](const char* name, std::optional<double>& value) {
                if (from.contains(name)) value = from[name].get<double>();
            });
            if (from.contains("throttled")) device.activity.throttled = from["throttled"].get<bool>();
            if (from.contains("processes")) {
                device.processes.emplace();
                for (const Json& process : from["processes"])
                    device.processes->push_back({process.at(0).get<std::int64_t>(), process.at(1).get<std::int64_t>()});
            }
            readings.devices.push_back(std::move(device));
        }
        return readings;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

}  // namespace hpo
