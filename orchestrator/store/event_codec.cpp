#include "orchestrator/store/event_codec.hpp"

#include <type_traits>

#include "hpo/wire.hpp"
#include "orchestrator/store/packed.hpp"

namespace hpo {
namespace {

using wire::Json;

Json body_of(const event::SessionStarted& e) {
    Json json{{"host", e.host}, {"pid", e.pid}, {"version", e.version}};
    if (!e.code.commit.empty())
        json["code"] = {{"commit", e.code.commit}, {"branch", e.code.branch}, {"changed", e.code.changed}};
    return json;
}
Json body_of(const event::SessionEnded& e) {
    return {{"seconds", wire::from(e.seconds)}, {"reason", e.reason}, {"end", to_text(e.end)}};
}
Json body_of(const event::Proposed& e) {
    Json point = Json::array();
    for (double coordinate : e.point) point.push_back(wire::from(coordinate));
    Json json{{"point", std::move(point)}, {"params", wire::from(e.params)}};
    if (e.repeat_of != 0) json["repeat_of"] = e.repeat_of;
    return json;
}
Json body_of(const event::Launched& e) {
    Json json = wire::described(e.allocation);
    json["where"] = e.where;
    return json;
}
Json body_of(const event::Paused& e) { return {{"rule", e.rule}, {"reason", e.reason}}; }
Json body_of(const event::Requeued& e) {
    return {{"outcome", to_text(e.outcome)}, {"charged", e.charged}, {"reason", e.reason}};
}
Json body_of(const event::Finished& e) { return {{"state", to_text(e.state)}, {"rule", e.rule}, {"reason", e.reason}}; }

Json body_of(const event::Measured& e) {
    return {{"host_bytes", e.peak.host_bytes}, {"device_bytes", e.peak.device_bytes}};
}

Json body_of(const event::Closing& e) { return {{"values", wire::from(e.values)}}; }
Json body_of(const event::Spared& e) { return {{"rule", e.rule}, {"reason", e.reason}}; }

std::int64_t attempt_of(const Event& event) {
    return std::visit(
        [](const auto& e) -> std::int64_t {
            if constexpr (requires { e.attempt; })
                return e.attempt;
            else
                return 0;
        },
        event);
}

event::SessionEnded to_session_ended(const Json& json) {
    using wire::member, wire::to_double, wire::to_index, wire::to_string;
    event::SessionEnded ended{to_double(member(json, "seconds")), to_string(member(json, "reason"))};
    ended.end = json.contains("end") ? static_cast<SessionEnd>(to_index(json["end"], session_end_names))
                                     : end_in_earlier_versions(ended.reason);
    return ended;
}

event::SessionStarted to_session_started(const Json& json) {
    using wire::member, wire::to_int, wire::to_string;
    event::SessionStarted started{to_string(member(json, "host")), to_int(member(json, "pid")),
                                  to_string(member(json, "version"))};
    if (json.contains("code")) {
        const Json& code = json["code"];
        started.code = {to_string(member(code, "commit")), to_string(member(code, "branch")),
                        to_string(member(code, "changed"))};
    }
    return started;
}

Event from_body(int kind, std::int64_t trial, std::int64_t attempt, const Json& json) {
    using wire::member, wire::to_double, wire::to_index, wire::to_int, wire::to_string;
    switch (kind) {
        case 1:
            return to_session_started(json);
        case 2:
            return to_session_ended(json);
        case kind_proposed: {
            event::Proposed proposed{trial, {}, wire::to_params(member(json, "params"))};
            for (const Json& coordinate : member(json, "point")) proposed.point.push_back(to_double(coordinate));
            if (json.contains("repeat_of")) {
                proposed.repeat_of = to_int(member(json, "repeat_of"));
                if (proposed.repeat_of < 1 || proposed.repeat_of >= trial)
                    throw wire::Malformed("\"repeat_of\" is " + std::to_string(proposed.repeat_of) +
                                          ", and not a trial before trial " + std::to_string(trial));
            }
            return proposed;
        }
        case 4: {
            event::Launched launched{trial, attempt, to_string(member(json, "where")), {}};
            wire::read(json, launched.allocation);
            return launched;
        }
        case kind_reported:
            return event::Reported{trial, attempt, wire::read<Report>(json)};
        case 6:
            return event::Paused{trial, attempt, to_string(member(json, "rule")), to_string(member(json, "reason"))};
        case 7:
            return event::Requeued{trial, attempt,
                                   static_cast<Outcome>(to_index(member(json, "outcome"), outcome_names)),
                                   member(json, "charged").get<bool>(), to_string(member(json, "reason"))};
        case 8:
            return event::Finished{trial, attempt,
                                   static_cast<TrialState>(to_index(member(json, "state"), trial_state_names)),
                                   to_string(member(json, "rule")), to_string(member(json, "reason"))};
        case 9:
            return event::Measured{
                trial, attempt, {to_int(member(json, "device_bytes")), to_int(member(json, "host_bytes")), 0}};
        case 10:
            return event::Closing{trial, attempt, wire::to_metrics(member(json, "values"))};
        case 11:
            return event::Spared{trial, attempt, to_string(member(json, "rule")), to_string(member(json, "reason"))};
        default:
            throw wire::Malformed("an event of unknown kind " + std::to_string(kind));
    }
}

}  // namespace

SessionEnd end_in_earlier_versions(std::string_view reason) {
    const bool over = reason == "the study is over" || reason.ends_with("(budget.patience)") ||
                      reason.ends_with(" was tried") || reason.starts_with("no further configuration was found");
    return over ? SessionEnd::finished : SessionEnd::none;
}

bool is_durable(const Event& event) {
    const auto* paused = std::get_if<event::Paused>(&event);  // the user is told that a stop is stored
    if (paused && paused->rule == by_user) return true;
    return std::holds_alternative<event::Finished>(event) || std::holds_alternative<event::SessionEnded>(event);
}

EventRow to_row(const Event& event) {
    if (const auto* reported = std::get_if<event::Reported>(&event))
        return {kind_step, reported->trial, reported->attempt, packed::of(reported->report)};
    const Json json = std::visit(
        [](const auto& e) -> Json {
            if constexpr (!std::is_same_v<std::decay_t<decltype(e)>, event::Reported>) return body_of(e);
            return {};
        },
        event);
    return {static_cast<int>(event.index()) + 1, trial_of(event), attempt_of(event),
            json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Result<Event> to_event(int kind, std::int64_t trial, std::int64_t attempt, std::string_view body) {
    try {
        if (kind == kind_step) return Event(event::Reported{trial, attempt, packed::to_report(body)});
        const Json json = Json::parse(body, nullptr, false);
        if (!json.is_object()) return Error{"its body is not a JSON object"};
        return from_body(kind, trial, attempt, json);
    } catch (const std::exception& malformed) {
        return Error{malformed.what()};
    }
}

}  // namespace hpo
