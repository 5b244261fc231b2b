// The JSON codec of messages.hpp, with one message per line (docs/protocol.md). Only .cpp files include this header,
// since it is slow to compile. Non-finite numbers are encoded as the strings "nan", "inf" and "-inf". Unknown keys are
// ignored, so that newer versions may add keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/message_fields.hpp"
#include "hpo/messages.hpp"
#include "hpo/result.hpp"

namespace hpo::wire {

using Json = nlohmann::json;

/// A message that does not conform to the protocol. Thrown and caught within this header.
struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline Json from(double number) {
    if (std::isfinite(number)) return number;
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}
inline Json from(const std::optional<double>& number) { return number ? from(*number) : Json(nullptr); }

inline Json from(const Value& value) {
    return std::visit(
        [](const auto& alternative) -> Json {
            using Alternative = std::decay_t<decltype(alternative)>;
            if constexpr (std::is_same_v<Alternative, double>)
                return from(alternative);
            else if constexpr (std::is_same_v<Alternative, JsonText>)
                return Json::parse(alternative.text);
            else
                return alternative;
        },
        value);
}
inline Json from(const Params& params) {
    Json json = Json::object();
    for (const auto& [name, value] : params) json[name] = from(value);
    return json;
}
inline Json from(const Metrics& metrics) {
    Json json = Json::object();
    for (const auto& [name, value] : metrics) json[name] = from(value);
    return json;
}
inline Json from(const AttemptId& id) { return {{"trial", id.trial}, {"attempt", id.attempt}}; }

inline const Json& member(const Json& json, const char* key) {
    const auto found = json.find(key);
    if (found == json.end()) throw Malformed(std::string("no \"") + key + "\"");
    return *found;
}
inline double to_double(const Json& json) {
    if (json.is_number()) return json.get<double>();
    if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (json == "inf") return std::numeric_limits<double>::infinity();
    if (json == "-inf") return -std::numeric_limits<double>::infinity();
    // dump() recurses, and the nesting in a line of 64 KiB may overflow a small stack.
    if (json.is_structured()) throw Malformed("not a number but a list or an object");
    throw Malformed("not a number: " + json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60));
}
/// Converts an integer of at most 2^53 in magnitude, also if it is written as a float.
inline std::int64_t to_int(const Json& json) {
    const double number = to_double(json);
    if (!(std::abs(number) <= 0x1p53) || number != std::floor(number)) throw Malformed("not a whole number below 2^53");
    return static_cast<std::int64_t>(number);
}
inline std::string to_string(const Json& json) {
    if (!json.is_string()) throw Malformed("not a string");
    return json.get<std::string>();
}
/// Returns the text of a JsonText. Limits the nesting as in study files.
inline std::string json_text(const Json& json, int depth = 0) {
    if (!json.is_structured()) return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (depth > 16) throw Malformed("nested more than 16 deep");
    std::string text(json.is_array() ? "[" : "{");
    for (const auto& [key, item] : json.items()) {
        if (text.size() > 1) text += ", ";
        if (json.is_object()) text += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
        text += json_text(item, depth + 1);
    }
    return text + (json.is_array() ? "]" : "}");
}
inline Value to_value(const Json& json) {
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer()) return to_int(json);
    if (json.is_number()) return json.get<double>();
    if (json.is_string()) return json.get<std::string>();
    const auto is_whole = [](const Json& item) { return item.is_number_integer(); };
    if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_whole)) return JsonText{json_text(json)};
    std::vector<std::int64_t> list;
    for (const Json& item : json) list.push_back(to_int(item));
    return list;
}
inline Params to_params(const Json& json) {
    if (!json.is_object()) throw Malformed("parameters are not an object");
    Params params;
    for (const auto& [name, value] : json.items()) params.emplace(name, to_value(value));
    return params;
}
inline Metrics to_metrics(const Json& json) {
    if (!json.is_object()) throw Malformed("metrics are not an object");
    Metrics metrics;
    for (const auto& [name, value] : json.items()) metrics.emplace(name, to_double(value));
    return metrics;
}
inline AttemptId to_id(const Json& json) {
    const AttemptId id{to_int(member(json, "trial")), to_int(member(json, "attempt"))};
    if (id.trial < 0 || id.attempt < 0) throw Malformed("negative trial or attempt");
    return id;
}
template <std::size_t N>
std::size_t to_index(const Json& json, const std::array<std::string_view, N>& names) {
    const auto name = to_string(json);
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == name) return i;
    throw Malformed("unknown value \"" + name.substr(0, 60) + "\"");
}

/// Returns the fields of a described structure (message_fields.hpp), or the
/// JSON form of a field's value.
template <class T>
Json described(const T& value) {
    if constexpr (requires { value.value(); }) {
        return described(*value);
    } else if constexpr (requires { visit_fields(value, [](const Field&, const auto&) {}); }) {
        Json json = Json::object();
        visit_fields(value, [&](const Field& field, const auto& member) {
            if (is_written(field, member)) json[field.key] = described(member);
        });
        return json;
    } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Metrics>) {
        return from(value);
    } else {
        return value;
    }
}

/// Reads the JSON of described().
template <class T>
void read(const Json& json, T& into) {
    if constexpr (std::is_same_v<T, double>) {
        into = to_double(json);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        into = to_int(json);
    } else if constexpr (std::is_same_v<T, bool>) {
        into = json.get<bool>();
    } else if constexpr (std::is_same_v<T, std::string>) {
        into = to_string(json);
    } else if constexpr (std::is_same_v<T, Metrics>) {
        into = to_metrics(json);
    } else if constexpr (requires { into.emplace(); }) {
        read(json, into.emplace());
    } else {
        visit_fields(into, [&](const Field& field, auto& value) {
            const auto found = json.find(field.key);
            if (field.presence == Presence::required)
                read(member(json, field.key), value);
            else if (found != json.end() && !found->is_null())
                read(*found, value);
        });
    }
}
template <class T>
T read(const Json& json) {
    T value;
    read(json, value);
    return value;
}

inline constexpr std::array<std::string_view, 3> action_names{"continue", "stop", "pause"};
inline constexpr std::array<std::string_view, 2> direction_names{"minimize", "maximize"};
inline constexpr std::array<std::string_view, 2> at_names{"best", "last"};

inline Json from(const Objective& objective) {
    return {{"metric", objective.metric},
            {"direction", direction_names[static_cast<std::size_t>(objective.direction)]},
            {"at", at_names[static_cast<std::size_t>(objective.at)]}};
}
inline Objective to_objective(const Json& json) {
    return {to_string(member(json, "metric")),
            static_cast<Direction>(to_index(member(json, "direction"), direction_names)),
            static_cast<Objective::At>(to_index(member(json, "at"), at_names))};
}

inline Json from(const to_worker::Done& done) {
    Json json{{"step", done.step}};
    if (done.iteration) json["iteration"] = *done.iteration;
    if (done.seconds) json["seconds"] = from(*done.seconds);
    if (done.stride > 0) json["stride"] = done.stride;
    return json;
}
inline to_worker::Done to_done(const Json& json) {
    to_worker::Done done;
    done.step = to_int(member(json, "step"));
    if (json.contains("iteration")) done.iteration = to_int(json["iteration"]);
    if (json.contains("seconds")) done.seconds = to_double(json["seconds"]);
    if (json.contains("stride")) done.stride = to_int(json["stride"]);
    return done;
}

inline Json body(const WorkerMessage& message) {
    using namespace from_worker;
    return std::visit(
        Overloaded{
            [](const Hello& m) {
                Json json{{"type", "hello"},
                          {"version", m.version},
                          {"token", m.token},
                          {"pid", m.pid},
                          {"slots", m.slots},
                          {"backend", m.backend},
                          {"capabilities", m.capabilities}};
                if (!m.identity.empty()) json["identity"] = m.identity;
                if (!m.notes.empty()) json["notes"] = m.notes;
                return json;
            },
            [](const PlanAnswer& m) {
                Json json{{"type", "plan"}, {"id", m.id}};
                if (!m.error.empty()) return json["error"] = m.error, json;
                json.update({{"device_bytes", m.footprint.device_bytes},
                             {"host_bytes", m.footprint.host_bytes},
                             {"cores", m.footprint.cores},
                             {"arena_bytes", m.arena_bytes},
                             {"data_bytes", m.data_bytes},
                             {"parameters", m.parameters},
                             {"iterations_per_step", m.iterations_per_step},
                             {"flops_per_step", m.flops_per_step}});
                if (m.training_samples > 0) json["training_samples"] = m.training_samples;
                if (!m.data.empty()) json["data"] = m.data;
                if (m.fusion_key.empty()) return json;
                json["fusion_key"] = m.fusion_key;
                json["colocated"] = {{"device_bytes", m.colocated.device_bytes},
                                     {"host_bytes", m.colocated.host_bytes},
                                     {"cores", m.colocated.cores}};
                return json;
            },
            [](const Started& m) {
                Json json{{"type", "started"}, {"from_step", m.from_step}};
                if (!m.data.empty()) json["data"] = m.data;
                if (m.checkpoints) json["checkpoints"] = true;
                return json.update(from(m.id)), json;
            },
            [](const Reported& m) {
                Json json{{"type", "report"}};
                return json.update(described(m.report)), json.update(from(m.id)), json;
            },
            [](const Alive& m) {
                Json json{{"type", "alive"}, {"phase", m.phase}};
                return json.update(from(m.id)), json;
            },
            [](const Finished& m) {
                Json json{{"type", "finished"}, {"outcome", to_text(m.outcome)}, {"values", from(m.values)}};
                if (!m.message.empty()) json["message"] = m.message;
                if (!m.checkpoint.empty()) json["checkpoint"] = m.checkpoint;
                if (m.last) json["last"] = true;
                if (m.peak_bytes > 0) json["peak_bytes"] = m.peak_bytes;
                return json.update(from(m.id)), json;
            },
            [](const Log& m) {
                Json json{{"type", "log"}, {"text", m.text}};
                return json.update(from(m.id)), json;
            },
        },
        message);
}

inline Json body(const OrchestratorMessage& message) {
    using namespace to_worker;
    return std::visit(Overloaded{
                          [](const Welcome& m) {
                              return Json{{"type", "welcome"}, {"version", m.version}, {"alive_every", m.alive_every}};
                          },
                          [](const Plan& m) {
                              Json json{{"type", "plan"},
                                        {"id", m.id},
                                        {"params", from(m.params)},
                                        {"epochs", m.epochs},
                                        {"data_seed", m.data_seed}};
                              if (m.explain_data) json["explain_data"] = true;
                              return json;
                          },
                          [](const Run& m) {
                              Json json{
                                  {"type", "run"},      {"params", from(m.params)}, {"steps", m.steps},
                                  {"seed", m.seed},     {"data_seed", m.data_seed}, {"objective", from(m.objective)},
                                  {"folder", m.folder}, {"resume", m.resume},       {"test", m.test},
                                  {"save", m.save}};
                              if (!m.log.empty()) json["log"] = m.log;
                              if (m.done) json["done"] = from(*m.done);
                              return json.update(from(m.id)), json;
                          },
                          [](const Decision& m) {
                              Json json{{"type", "decision"},
                                        {"step", m.step},
                                        {"action", action_names[static_cast<std::size_t>(m.action)]}};
                              return json.update(from(m.id)), json;
                          },
                          [](const Stop& m) {
                              Json json{{"type", "stop"}};
                              return json.update(from(m.id)), json;
                          },
                          [](const Cores& m) {
                              return Json{{"type", "cores"}, {"cores", m.cores}};
                          },
                          [](const Shutdown&) {
                              return Json{{"type", "shutdown"}};
                          },
                      },
                      message);
}

/// Returns the message as one line with its newline. Bytes that are not UTF-8 are replaced.
template <class Message>
std::string encode(const Message& message) {
    return body(message).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

inline WorkerMessage worker_message(const Json& json) {
    using namespace from_worker;
    const std::string type = to_string(member(json, "type"));
    const auto text_or_empty = [&](const char* key) {
        const auto found = json.find(key);
        return found == json.end() ? std::string() : to_string(*found);
    };
    if (type == "report") return Reported{to_id(json), read<Report>(json)};
    if (type == "alive") return Alive{to_id(json), text_or_empty("phase")};
    if (type == "started")
        return Started{to_id(json), to_int(member(json, "from_step")), text_or_empty("data"),
                       json.contains("checkpoints") && json["checkpoints"] == true};
    if (type == "log") return Log{to_id(json), to_string(member(json, "text"))};
    if (type == "finished") {
        const auto outcome = static_cast<Outcome>(to_index(member(json, "outcome"), outcome_names));
        if (outcome > Outcome::lost) throw Malformed("a worker cannot report this outcome");
        return Finished{to_id(json),
                        outcome,
                        text_or_empty("message"),
                        json.contains("values") ? to_metrics(json["values"]) : Metrics{},
                        text_or_empty("checkpoint"),
                        json.contains("last") && json["last"] == true,
                        json.contains("peak_bytes") ? to_int(json["peak_bytes"]) : 0};
    }
    if (type == "hello") {
        Hello hello;
        hello.version = static_cast<int>(to_int(member(json, "version")));
        hello.token = text_or_empty("token");
        hello.pid = to_int(member(json, "pid"));
        hello.slots = json.contains("slots") ? to_int(json["slots"]) : 1;
        hello.backend = text_or_empty("backend");
        for (const auto& [name, list] :
             {std::pair("capabilities", &hello.capabilities), std::pair("notes", &hello.notes)})
            if (const auto found = json.find(name); found != json.end())
                for (const Json& item : *found) list->push_back(to_string(item));
        hello.identity = text_or_empty("identity");
        return hello;
    }
    if (type == "plan") {
        PlanAnswer answer;
        answer.id = to_int(member(json, "id"));
        answer.error = text_or_empty("error");
        if (!answer.error.empty()) return answer;
        const auto footprint = [](const Json& from) {
            return Footprint{to_int(member(from, "device_bytes")), to_int(member(from, "host_bytes")),
                             to_double(member(from, "cores"))};
        };
        answer.footprint = footprint(json);
        answer.arena_bytes = to_int(member(json, "arena_bytes"));
        answer.data_bytes = to_int(member(json, "data_bytes"));
        answer.parameters = to_int(member(json, "parameters"));
        answer.iterations_per_step = to_int(member(json, "iterations_per_step"));
        answer.flops_per_step = to_double(member(json, "flops_per_step"));
        if (const auto found = json.find("training_samples"); found != json.end())
            answer.training_samples = to_int(*found);
        if (const auto found = json.find("data"); found != json.end())
            for (const Json& line : *found) answer.data.push_back(to_string(line));
        // Version 1 of the protocol named these members shape and beside.
        const bool renamed = json.contains("fusion_key");
        answer.fusion_key = text_or_empty(renamed ? "fusion_key" : "shape");
        if (!answer.fusion_key.empty()) answer.colocated = footprint(member(json, renamed ? "colocated" : "beside"));
        return answer;
    }
    throw Malformed("unknown type \"" + type.substr(0, 60) + "\"");
}

inline OrchestratorMessage orchestrator_message(const Json& json) {
    using namespace to_worker;
    const std::string type = to_string(member(json, "type"));
    const auto flag = [&](const char* key) {
        const Json& found = member(json, key);
        if (!found.is_boolean()) throw Malformed("not true or false");
        return found.get<bool>();
    };
    if (type == "decision")
        return Decision{to_id(json), to_int(member(json, "step")),
                        static_cast<Action>(to_index(member(json, "action"), action_names))};
    if (type == "stop") return Stop{to_id(json)};
    if (type == "cores") {
        const Json& cores = member(json, "cores");
        if (!cores.is_array()) throw Malformed("\"cores\" is not a list");
        Cores message;
        for (const Json& core : cores) message.cores.push_back(to_int(core));
        return message;
    }
    if (type == "shutdown") return Shutdown{};
    if (type == "welcome")
        return Welcome{static_cast<int>(to_int(member(json, "version"))), to_double(member(json, "alive_every"))};
    if (type == "plan")
        return Plan{to_int(member(json, "id")), to_params(member(json, "params")), to_int(member(json, "epochs")),
                    static_cast<std::uint64_t>(to_int(member(json, "data_seed"))),
                    json.contains("explain_data") && flag("explain_data")};
    if (type == "run")
        return Run{to_id(json),
                   to_params(member(json, "params")),
                   to_int(member(json, "steps")),
                   static_cast<std::uint64_t>(to_int(member(json, "seed"))),
                   static_cast<std::uint64_t>(to_int(member(json, "data_seed"))),
                   to_objective(member(json, "objective")),
                   to_string(member(json, "folder")),
                   flag("resume"),
                   flag("test"),
                   to_string(member(json, "save")),
                   json.contains("log") ? to_string(json["log"]) : "",
                   json.contains("done") ? std::optional(to_done(json["done"])) : std::nullopt};
    throw Malformed("unknown type \"" + type.substr(0, 60) + "\"");
}

namespace detail {
/// Parses a line and converts it. The parser of the JSON library does not recurse, so deep nesting cannot overflow the
/// stack.
template <class Convert>
auto decode(std::string_view line, Convert&& convert) -> Result<decltype(convert(std::declval<const Json&>()))> {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) return Error{"not JSON"};
    if (!json.is_object()) return Error{"not a JSON object"};
    try {
        return convert(json);
    } catch (const std::exception& malformed) {
        return Error{malformed.what()};
    }
}
}  // namespace detail

/// Decodes a line without its newline. The Error names the missing or wrong part and quotes at most 60 bytes of the
/// line.
inline Result<WorkerMessage> decode_worker(std::string_view line) { return detail::decode(line, worker_message); }
inline Result<OrchestratorMessage> decode_orchestrator(std::string_view line) {
    return detail::decode(line, orchestrator_message);
}

}  // namespace hpo::wire
