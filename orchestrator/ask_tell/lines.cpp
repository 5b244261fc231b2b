#include "orchestrator/ask_tell/lines.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "hpo/open_trials.hpp"
#include "hpo/random.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/output/trial_json.hpp"

namespace hpo::ask_tell {

namespace {

using Json = nlohmann::ordered_json;
using wire::Malformed;
using wire::member;

constexpr std::size_t longest_reason = 4000;

std::string written(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

template <class Map>
Json object(const Map& map) {
    Json json = Json::object();
    for (const auto& [name, value] : map) json[name] = wire::from(value);
    return json;
}

/// Returns the result of `read` for a member. Errors name the member.
template <class Read>
auto part(const wire::Json& json, const char* key, Read&& read) {
    const wire::Json& found = member(json, key);
    try {
        return read(found);
    } catch (const Malformed& malformed) {
        throw Malformed('"' + std::string(key) + "\": " + malformed.what());
    }
}

std::int64_t whole(const wire::Json& json, const char* key) { return part(json, key, wire::to_int); }

double number_of_metric(const wire::Json& json) {
    try {
        return wire::to_double(json);
    } catch (const Malformed& malformed) {
        if (!json.is_string()) throw;
        throw Malformed(std::string(malformed.what()) + R"( (one that is not finite is "nan", "inf" or "-inf"))");
    }
}

Metrics values(const wire::Json& json) {
    return part(json, "values", [](const wire::Json& found) {
        if (!found.is_object()) throw Malformed("not an object of names and numbers");
        Metrics metrics;
        for (const auto& [name, value] : found.items())
            metrics.emplace(name, part(found, name.c_str(), number_of_metric));
        return metrics;
    });
}

const wire::Json& object_of(const wire::Json& json, const char* key) {
    const wire::Json& found = json.at(key);
    if (!found.is_object()) throw Malformed("not an object");
    return found;
}

/// Returns the value of a result, or throws its error as Malformed.
template <class T>
T good(Result<T> result) {
    if (!result) throw Malformed(result.error().message);
    return *std::move(result);
}

Json on_ask(Session& session, const wire::Json& request) {
    const std::int64_t count = wire::to_int(request.at("ask"));
    if (count < 1) throw Malformed("a number of trials from 1 on, not " + std::to_string(count));
    const Offers offers = session.ask(count);
    Json trials = Json::array();
    for (const Offer& offer : offers.trials) {
        Json trial{{"trial", offer.trial}, {"params", object(offer.params)}};
        trial["seed"] = trial_seed(session.study().seed, static_cast<std::uint64_t>(offer.trial));
        if (offer.repeat_of > 0) trial["repeat_of"] = offer.repeat_of;
        if (offer.resume_from > 0) trial["resume_from"] = offer.resume_from;
        trials.push_back(std::move(trial));
    }
    Json json{{"trials", std::move(trials)}};
    if (!offers.reason.empty()) json["done"] = offers.done, json["reason"] = offers.reason;
    return json;
}

Json on_report(Session& session, const wire::Json& request) {
    const wire::Json& body = object_of(request, "report");
    const std::int64_t trial = whole(body, "trial"), step = whole(body, "step");
    const Verdict verdict = good(session.report(trial, step, values(body)));
    Json json{{"trial", trial}, {"decision", wire::action_names[static_cast<std::size_t>(verdict.action)]}};
    if (verdict.action == to_worker::Action::go_on) return json;
    json["rule"] = verdict.rule.empty() ? "diverged" : verdict.rule;
    json["reason"] = verdict.reason;
    return json;
}

Json on_tell(Session& session, const wire::Json& request) {
    const wire::Json& body = object_of(request, "tell");
    const std::int64_t trial = whole(body, "trial");
    const std::string state = body.contains("state") ? part(body, "state", wire::to_string) : "complete";
    const Metrics numbers = body.contains("values") ? values(body) : Metrics();
    Told told;
    if (state == "complete") {
        told = good(session.complete(trial, numbers));
    } else if (state == "stopped" || state == "failed") {
        const std::string reason = body.contains("reason") ? part(body, "reason", wire::to_string) : "";
        const auto end = state == "failed" ? &Session::fail : &Session::give_up;
        told = good((session.*end)(trial, numbers, reason.substr(0, longest_reason)));
    } else {
        throw Malformed("\"state\": complete, stopped or failed, not \"" + state.substr(0, 60) + '"');
    }
    Json json{{"trial", trial}, {"ok", true}};
    if (to_text(told.state) != state) json["state"] = to_text(told.state), json["reason"] = told.reason;
    return json;
}

/// Returns a trial's metrics at its best step, or their means over the seeds of its configuration, and those told with
/// its end.
Json values_of(const Session& session, const TrialRecord& trial) {
    Metrics numbers = trial.closing;
    numbers.erase(session.study().objective.metric);
    for (const Report& report : trial.curve)
        if (report.step == trial.best_step)
            for (const auto& [name, value] : report.metrics) numbers[name] = value;
    for (const auto& [name, mean] : trial.means) numbers[name] = mean;
    if (!trial.seeds.empty()) numbers[session.study().objective.metric] = *trial.value;
    return object(numbers);
}

Json on_best(Session& session, const wire::Json& request) {
    if (wire::to_int(request.at("best")) != 1) throw Malformed("there is one best trial: {\"best\": 1}");
    const TrialRecord* best = session.best();
    Json json{{"trial", nullptr}, {"params", Json::object()}, {"values", Json::object()}};
    if (best)
        json = {{"trial", best->number},
                {"params", object(best->params)},
                {"values", values_of(session, *best)},
                {"step", best->best_step},
                {"state", to_text(best->state)}};
    if (best && !best->seeds.empty()) json["seeds"] = best->seeds.size();
    if (session.study().objective.further.empty()) return json;
    Json& front = json["front"] = Json::array();
    for (const TrialRecord* trial : session.front())
        front.push_back({{"trial", trial->number},
                         {"params", object(trial->params)},
                         {"values", values_of(session, *trial)},
                         {"step", trial->best_step},
                         {"state", to_text(trial->state)}});
    return json;
}

Json on_study(Session& session, const wire::Json&) {
    const Study& study = session.study();
    return {{"study", study.name},
            {"metric", study.objective.metric},
            {"direction", wire::direction_names[static_cast<std::size_t>(study.objective.direction)]},
            {"trials", is_open_ended(study.budget) ? Json(nullptr) : Json(study.budget.trials)},
            {"epochs", study.budget.epochs},
            {"seed", study.seed},
            {"version", version}};
}

Json on_trials(Session& session, const wire::Json& request) {
    const std::int64_t from = wire::to_int(request.at("trials"));
    if (from < 1) throw Malformed("the number of the first trial, from 1 on, not " + std::to_string(from));
    Json trials = Json::array();
    for (const TrialRecord& trial : session.trials())
        if (trial.number >= from) trials.push_back(trial_json(trial));
    return {{"schema", json_schema}, {"trials", std::move(trials)}};
}

struct Request {
    const char* name;
    Json (*answer)(Session&, const wire::Json&);
};
constexpr std::array requests{Request{"ask", on_ask},   Request{"report", on_report}, Request{"tell", on_tell},
                              Request{"best", on_best}, Request{"study", on_study},   Request{"trials", on_trials}};

wire::Json parsed(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) throw Malformed("an empty line");
    try {
        wire::Json json = wire::Json::parse(line);
        if (!json.is_object()) throw Malformed("not a JSON object");
        return json;
    } catch (const wire::Json::exception& error) {
        const std::string message = error.what();  // "[json.exception...] parse error at line 1, column 5: ..."
        const auto column = message.find("column "), kind = message.find("] ");
        const auto from = column != std::string::npos ? column : kind == std::string::npos ? 0 : kind + 2;
        const bool not_finite = line.find("NaN") != std::string_view::npos ||
                                line.find("Infinity") != std::string_view::npos ||
                                dynamic_cast<const wire::Json::out_of_range*>(&error) != nullptr;  // 1e999
        throw Malformed("not JSON, " + message.substr(from, 200) +
                        (not_finite ? R"( (numbers that are not finite are written "nan", "inf" and "-inf"))" : ""));
    }
}

Json answered(Session& session, std::string_view line) {
    const wire::Json json = parsed(line);
    const Request* chosen = nullptr;
    for (const Request& request : requests) {
        if (!json.contains(request.name)) continue;
        if (chosen)
            throw Malformed(std::string("one request a line, not \"") + chosen->name + "\" and \"" + request.name +
                            '"');
        chosen = &request;
    }
    if (!chosen) throw Malformed("no request: ask, report, tell, best, study or trials");
    try {
        return chosen->answer(session, json);
    } catch (const Malformed& malformed) {
        throw Malformed(std::string(chosen->name) + ": " + malformed.what());
    }
}

}  // namespace

std::string error_line(const std::string& message, std::int64_t number) {
    return written({{"error", message}, {"line", number}});
}

std::string answer(Session& session, std::string_view line, std::int64_t number) {
    try {
        return written(answered(session, line));
    } catch (const StoreFailed& failed) {
        return error_line(std::string("the study's database cannot be written: ") + failed.what(), number);
    } catch (const std::exception& error) {
        return error_line(error.what(), number);
    }
}

}  // namespace hpo::ask_tell
