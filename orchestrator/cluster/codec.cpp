#include "orchestrator/cluster/codec.hpp"

#include <type_traits>

#include "hpo/wire.hpp"
#include "orchestrator/cluster/stream.hpp"
#include "orchestrator/execution/connection.hpp"
#include "orchestrator/execution/quick_wire.hpp"

namespace hpo::cluster {

namespace {

using Json = nlohmann::json;
using wire::Malformed, wire::member, wire::to_double, wire::to_int, wire::to_string;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

int to_number(const Json& json) {
    const std::int64_t number = to_int(json);
    if (number < 0 || number > 1'000'000) throw Malformed("not a small number");
    return static_cast<int>(number);
}
bool to_bool(const Json& json) {
    if (!json.is_boolean()) throw Malformed("neither true nor false");
    return json.get<bool>();
}
template <class F>
auto list_of(const Json& json, F&& convert) {
    if (!json.is_array()) throw Malformed("not a list");
    std::vector<std::decay_t<decltype(convert(json))>> list;
    for (const Json& item : json) list.push_back(convert(item));
    return list;
}
std::vector<std::string> texts(const Json& json) { return list_of(json, to_string); }
std::vector<int> numbers(const Json& json) { return list_of(json, to_number); }
std::optional<std::int64_t> to_optional(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(to_int(json));
}
Json from(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(nullptr); }

// ---- Parts of messages.

Json from(const LaunchSpec& spec) {
    return {{"command", spec.command},        {"environment", spec.environment}, {"cpus", spec.cpus},
            {"folder", spec.folder.string()}, {"preload", spec.preload},         {"devices", spec.devices}};
}
LaunchSpec to_spec(const Json& json) {
    LaunchSpec spec;
    spec.command = texts(member(json, "command"));
    const Json& environment = member(json, "environment");
    if (!environment.is_object()) throw Malformed("the environment is not an object");
    for (const auto& [name, value] : environment.items()) spec.environment.emplace(name, to_string(value));
    spec.cpus = numbers(member(json, "cpus"));
    spec.folder = to_string(member(json, "folder"));
    spec.preload = texts(member(json, "preload"));
    spec.devices = numbers(member(json, "devices"));
    return spec;
}

Json from(const DeviceReservation& held) {
    return {{"device", held.device},           {"reserved", held.reserved}, {"capacity", held.capacity},
            {"reserve", held.reserve},         {"others", held.others},     {"used", held.used},
            {"cores", wire::from(held.cores)}, {"trials", held.trials},     {"limit", from(held.limit)}};
}
DeviceReservation to_reservation(const Json& json) {
    return {.device = to_string(member(json, "device")),
            .reserved = to_int(member(json, "reserved")),
            .capacity = to_int(member(json, "capacity")),
            .reserve = to_int(member(json, "reserve")),
            .others = to_int(member(json, "others")),
            .used = to_int(member(json, "used")),
            .cores = to_double(member(json, "cores")),
            .trials = to_int(member(json, "trials")),
            .limit = to_optional(member(json, "limit"))};
}

Json from(const from_agent::Reading& reading) {
    Json accelerators = Json::array(), workers = Json::array();
    for (std::size_t i = 0; i < reading.accelerators.size(); ++i) {
        const Accelerator& one = reading.accelerators[i];
        accelerators.push_back({{"id", one.id},
                                {"memory", one.memory},
                                {"reserve", one.reserve},
                                {"others", one.others},
                                {"usable", one.usable},
                                {"unified", one.unified},
                                {"free", from(one.free)},
                                {"hidden", i < reading.hidden.size() && reading.hidden[i]}});
    }
    for (const auto& use : reading.workers) workers.push_back({use.slot, use.host_bytes, use.device_bytes});
    const Machine::Host& host = reading.host;
    return {{"cores", wire::from(host.cores)}, {"memory", host.memory},   {"reserve", host.reserve},
            {"others", host.others},           {"free", from(host.free)}, {"accelerators", std::move(accelerators)},
            {"workers", std::move(workers)}};
}
from_agent::Reading to_reading(const Json& json) {
    from_agent::Reading reading;
    reading.host = {.cores = to_double(member(json, "cores")),
                    .memory = to_int(member(json, "memory")),
                    .reserve = to_int(member(json, "reserve")),
                    .others = to_int(member(json, "others")),
                    .free = to_optional(member(json, "free"))};
    reading.accelerators = list_of(member(json, "accelerators"), [&](const Json& one) {
        reading.hidden.push_back(to_bool(member(one, "hidden")));
        Accelerator device;
        device.id = to_string(member(one, "id"));
        device.memory = to_int(member(one, "memory"));
        device.reserve = to_int(member(one, "reserve"));
        device.others = to_int(member(one, "others"));
        device.usable = to_bool(member(one, "usable"));
        device.unified = to_bool(member(one, "unified"));
        device.free = to_optional(member(one, "free"));
        return device;
    });
    reading.workers = list_of(member(json, "workers"), [](const Json& use) {
        if (!use.is_array() || use.size() != 3) throw Malformed("not the use of a worker");
        return from_agent::Reading::Use{to_number(use[0]), to_int(use[1]), to_int(use[2])};
    });
    return reading;
}

// ---- Payloads. Payloads of workers' messages begin with the slot.

std::string with_slot(int slot, std::string_view rest) {
    std::string bytes;
    put_u32(bytes, static_cast<std::uint32_t>(slot));
    return bytes.append(rest);
}
std::pair<int, std::string_view> split_slot(std::string_view payload) {
    if (payload.size() < 4) throw Malformed("no slot");
    const std::uint32_t slot = get_u32(payload);
    if (slot > 1'000'000) throw Malformed("no slot");
    return {static_cast<int>(slot), payload.substr(4)};
}

WorkerMessage message_of(std::string_view line) {
    if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    if (auto report = wire::quick_report(line)) return *std::move(report);
    auto message = wire::decode_worker(line);
    if (!message) throw Malformed(message.error().message);
    make_printable(*message);
    return *std::move(message);
}

std::string payload(const to_agent::Setup& m) {
    return text_of({{"study", m.study},
                    {"folder", m.folder},
                    {"current", m.current},
                    {"tag", m.tag},
                    {"alive_every", wire::from(m.alive_every)},
                    {"hosts", m.hosts}});
}
std::string payload(const to_agent::Heartbeat&) { return {}; }
std::string payload(const to_agent::Launch& m) { return with_slot(m.slot, text_of(from(m.spec))); }
std::string payload(const to_agent::Send& m) { return with_slot(m.slot, m.lines); }
std::string payload(const to_agent::LogTo& m) { return with_slot(m.slot, m.file); }
std::string payload(const to_agent::Terminate& m) { return with_slot(m.slot, text_of(wire::from(m.grace))); }
std::string payload(const to_agent::Kill& m) { return with_slot(m.slot, {}); }
std::string payload(const to_agent::Holds& m) {
    Json devices = Json::array();
    for (const DeviceReservation& held : m.devices) devices.push_back(from(held));
    return text_of({{"devices", std::move(devices)}, {"waits", m.waits}});
}

std::string payload(const from_agent::Hello& m) {
    return text_of(
        {{"host", m.host}, {"workers", m.workers}, {"on_device", m.on_device}, {"reading", from(m.reading)}});
}
std::string payload(const from_agent::Refused& m) { return text_of({{"reason", m.reason}}); }
std::string payload(const from_agent::Reading& m) { return text_of(from(m)); }
std::string payload(const from_agent::Notice& m) { return text_of({{"warning", m.warning}, {"text", m.text}}); }
std::string payload(const from_agent::Goodbye& m) {
    return text_of({{"reason", m.reason}, {"own_fault", m.own_fault}});
}
/// A byte names the event; the messages of workers come as they are.
std::string payload(const from_agent::Happened& m) {
    const std::string rest =
        std::visit(Overloaded{
                       [](const execution::Ready& e) { return wire::encode(WorkerMessage(e.hello)); },
                       [](const execution::Received& e) { return wire::encode(e.message); },
                       [](const execution::MalformedLines& e) {
                           return text_of({{"lines", e.lines}, {"example", e.example}});
                       },
                       [](const execution::Notice& e) {
                           return text_of({{"text", e.text}});
                       },
                       [](const execution::Exited& e) {
                           return text_of({{"code", e.code},
                                           {"signal", e.signal},
                                           {"out_of_memory_kill", e.out_of_memory_kill},
                                           {"log_tail", e.log_tail},
                                           {"peak_bytes", e.peak_bytes},
                                           {"cause", e.cause},
                                           {"host_lost", e.host_lost}});
                       },
                       [](const execution::LaunchFailed& e) {
                           return text_of({{"error", e.error}, {"message", e.message}});
                       },
                   },
                   m.event);
    return with_slot(m.slot, static_cast<char>(m.event.index()) + rest);
}

execution::Event to_event(std::string_view bytes) {
    if (bytes.empty()) throw Malformed("no event");
    const auto kind = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (kind == 0) {
        WorkerMessage message = message_of(bytes);
        auto* hello = std::get_if<from_worker::Hello>(&message);
        if (hello == nullptr) throw Malformed("no hello");
        return execution::Ready{std::move(*hello)};
    }
    if (kind == 1) return execution::Received{message_of(bytes)};
    const Json json = Json::parse(bytes);
    switch (kind) {
        case 2:
            return execution::MalformedLines{to_int(member(json, "lines")), to_string(member(json, "example"))};
        case 3:
            return execution::Notice{to_string(member(json, "text"))};
        case 4:
            return execution::Exited{.code = to_number(member(json, "code")),
                                     .signal = to_number(member(json, "signal")),
                                     .out_of_memory_kill = to_bool(member(json, "out_of_memory_kill")),
                                     .log_tail = to_string(member(json, "log_tail")),
                                     .peak_bytes = to_int(member(json, "peak_bytes")),
                                     .cause = to_string(member(json, "cause")),
                                     .host_lost = to_bool(member(json, "host_lost"))};
        case 5:
            return execution::LaunchFailed{to_number(member(json, "error")), to_string(member(json, "message"))};
        default:
            throw Malformed("no such event");
    }
}

template <class Message>
std::string frame_of(const Message& message) {
    return std::visit([&](const auto& m) { return frame(static_cast<std::uint8_t>(message.index() + 1), payload(m)); },
                      message);
}

ToAgent to_agent_message(std::uint8_t kind, std::string_view bytes) {
    switch (kind) {
        case 1: {
            const Json json = Json::parse(bytes);
            return to_agent::Setup{to_string(member(json, "study")),       to_string(member(json, "folder")),
                                   to_string(member(json, "current")),     to_string(member(json, "tag")),
                                   to_double(member(json, "alive_every")), to_number(member(json, "hosts"))};
        }
        case 2:
            return to_agent::Heartbeat{};
        case 3: {
            const auto [slot, rest] = split_slot(bytes);
            return to_agent::Launch{slot, to_spec(Json::parse(rest))};
        }
        case 4: {
            const auto [slot, rest] = split_slot(bytes);
            return to_agent::Send{slot, std::string(rest)};
        }
        case 5: {
            const auto [slot, rest] = split_slot(bytes);
            return to_agent::LogTo{slot, std::string(rest)};
        }
        case 6: {
            const auto [slot, rest] = split_slot(bytes);
            return to_agent::Terminate{slot, to_double(Json::parse(rest))};
        }
        case 7:
            return to_agent::Kill{split_slot(bytes).first};
        case 8: {
            const Json json = Json::parse(bytes);
            return to_agent::Holds{list_of(member(json, "devices"), to_reservation), to_string(member(json, "waits"))};
        }
        default:
            throw Malformed("no such message");
    }
}

FromAgent from_agent_message(std::uint8_t kind, std::string_view bytes) {
    if (kind == 4) {
        const auto [slot, rest] = split_slot(bytes);
        return from_agent::Happened{slot, to_event(rest)};
    }
    const Json json = Json::parse(bytes);
    switch (kind) {
        case 1:
            return from_agent::Hello{to_string(member(json, "host")), to_number(member(json, "workers")),
                                     to_bool(member(json, "on_device")), to_reading(member(json, "reading"))};
        case 2:
            return from_agent::Refused{to_string(member(json, "reason"))};
        case 3:
            return to_reading(json);
        case 5:
            return from_agent::Notice{to_bool(member(json, "warning")), to_string(member(json, "text"))};
        case 6:
            return from_agent::Goodbye{to_string(member(json, "reason")), to_bool(member(json, "own_fault"))};
        default:
            throw Malformed("no such message");
    }
}

template <class Message>
Result<Message> guarded(Message (*decode)(std::uint8_t, std::string_view), std::uint8_t kind, std::string_view bytes) {
    try {
        return decode(kind, bytes);
    } catch (const Malformed& wrong) {
        return Error{wrong.what()};
    } catch (const Json::exception& wrong) {
        return Error{wrong.what()};
    }
}

}  // namespace

std::string encode(const ToAgent& message) { return frame_of(message); }
std::string encode(const FromAgent& message) { return frame_of(message); }

Result<ToAgent> decode_to_agent(std::uint8_t kind, std::string_view bytes) {
    return guarded(to_agent_message, kind, bytes);
}
Result<FromAgent> decode_from_agent(std::uint8_t kind, std::string_view bytes) {
    return guarded(from_agent_message, kind, bytes);
}

}  // namespace hpo::cluster
