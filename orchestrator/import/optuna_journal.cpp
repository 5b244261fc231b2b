#include "orchestrator/import/optuna_journal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace hpo::importing {

namespace {

constexpr std::array states{"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};

/// Python writes numbers that are not finite as NaN, Infinity and -Infinity, which JSON does not have: they become
/// texts.
std::string as_json(std::string_view line) {
    std::string text;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '\\' && i + 1 < line.size()) {
            text += c;
            text += line[++i];
            continue;
        }
        if (c == '"') quoted = !quoted;
        const std::string_view rest = line.substr(i);
        std::string_view word;
        for (const std::string_view special : {"NaN", "Infinity", "-Infinity"})
            if (!quoted && rest.starts_with(special)) word = special;
        if (word.empty()) {
            text += c;
            continue;
        }
        text += '"' + std::string(word) + '"';
        i += word.size() - 1;
    }
    return text;
}

double journal_number(const nlohmann::json& json) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (!json.is_string()) return json.get<double>();
    if (json == "Infinity") return infinite;
    if (json == "-Infinity") return -infinite;
    return std::numeric_limits<double>::quiet_NaN();
}

std::optional<double> time_in(const nlohmann::json& operation, const char* key) {
    const auto found = operation.find(key);
    return found != operation.end() && found->is_string() ? seconds_of_datetime(found->get<std::string>())
                                                          : std::nullopt;
}

/// Replays the operations. Throws nlohmann's exceptions and std::out_of_range for what is no operation.
class Journal {
   public:
    void take(const nlohmann::json& operation) {
        switch (operation.at("op_code").get<int>()) {
            case 0:
                return create_study(operation);
            case 1:
                studies_.at(index(operation, "study_id")).deleted = true;
                return;
            case 2:
                ++studies_.at(index(operation, "study_id")).study.user_attributes;
                return;
            case 3:
                for (const auto& [key, value] : operation.at("system_attr").items())
                    if (key == "study:metric_names")
                        studies_.at(index(operation, "study_id")).study.metrics = metric_names(value.dump());
                return;
            case 4:
                return create_trial(operation);
            case 5:
                return set_param(trial(operation), operation.at("param_name").get<std::string>(),
                                 journal_number(operation.at("param_value_internal")),
                                 operation.at("distribution").get<std::string>());
            case 6:
                return set_state(operation);
            case 7:
                trial(operation).steps[operation.at("step").get<std::int64_t>()] =
                    journal_number(operation.at("intermediate_value"));
                return;
            case 8:
                ++studies_.at(trials_.at(index(operation, "trial_id")).study).study.user_attributes;
                return;
            case 9:
                return take_attributes(trial(operation), operation.at("system_attr"));
            default:  // of another program: Optuna passes over these as well
                return;
        }
    }

    Result<OptunaStudy> study(const std::string& source, const std::string& name) && {
        std::vector<std::string> names;
        std::vector<OptunaStudy*> studies;
        for (Entry& entry : studies_)
            if (!entry.deleted) names.push_back(entry.study.name), studies.push_back(&entry.study);
        const auto chosen = choose_optuna_study(names, name, source);
        if (!chosen) return chosen.error();
        OptunaStudy& study = *studies[*chosen];
        if (study.directions.empty()) return Error{source + ": study '" + names[*chosen] + "' has no direction"};
        double begin = std::numeric_limits<double>::infinity(), end = 0;
        for (const Place& place : trials_) {
            if (&studies_[place.study].study != &study) continue;
            if (place.started) begin = std::min(begin, *place.started);
            if (place.ended) end = std::max(end, *place.ended);
            if (place.started && place.ended && *place.ended >= *place.started)
                study.trials[place.trial].seconds = *place.ended - *place.started;
        }
        study.seconds = std::max(0.0, end - begin);
        return std::move(study);
    }

   private:
    struct Entry {
        OptunaStudy study;
        bool deleted = false;
    };
    struct Place {
        std::size_t study = 0, trial = 0;
        std::optional<double> started = {}, ended = {};
    };

    static std::size_t index(const nlohmann::json& operation, const char* key) {
        return operation.at(key).get<std::size_t>();
    }

    OptunaTrial& trial(const nlohmann::json& operation) {
        const Place& place = trials_.at(index(operation, "trial_id"));
        return studies_[place.study].study.trials[place.trial];
    }

    void create_study(const nlohmann::json& operation) {
        OptunaStudy study;
        study.name = operation.at("study_name").get<std::string>();
        for (const nlohmann::json& direction : operation.at("directions"))
            study.directions.push_back(direction.get<int>() == 2 ? Direction::maximize : Direction::minimize);
        // Optuna passes over the second of two processes that make the same study.
        if (std::ranges::any_of(studies_, [&](const Entry& e) { return !e.deleted && e.study.name == study.name; }))
            return;
        studies_.push_back({std::move(study)});
    }

    void create_trial(const nlohmann::json& operation) {
        const std::size_t at = index(operation, "study_id");
        OptunaStudy& study = studies_.at(at).study;
        if (studies_[at].deleted) return;
        trials_.push_back(
            {at, study.trials.size(), time_in(operation, "datetime_start"), time_in(operation, "datetime_complete")});
        OptunaTrial made{.number = static_cast<std::int64_t>(study.trials.size()),
                         .state = states.at(operation.value("state", std::size_t{0})),
                         .steps = {}};
        for (const char* key : {"value", "values"})
            if (const auto found = operation.find(key); found != operation.end()) set_values(made, *found);
        if (const auto params = operation.find("params"); params != operation.end())
            for (const auto& [name, value] : params->items())
                set_param(made, name, journal_number(value), operation.at("distributions").at(name).get<std::string>());
        if (const auto steps = operation.find("intermediate_values"); steps != operation.end())
            for (const auto& [step, value] : steps->items()) made.steps[whole_number(step)] = journal_number(value);
        if (const auto attributes = operation.find("system_attrs"); attributes != operation.end())
            take_attributes(made, *attributes);
        if (const auto attributes = operation.find("user_attrs"); attributes != operation.end())
            study.user_attributes += static_cast<std::int64_t>(attributes->size());
        study.trials.push_back(std::move(made));
    }

    static std::int64_t whole_number(const std::string& text) {
        std::int64_t number = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (problem != std::errc() || end != text.data() + text.size()) throw std::out_of_range("no step");
        return number;
    }

    static void set_param(OptunaTrial& trial, const std::string& name, double value, std::string distribution) {
        const auto known = std::ranges::find(trial.params, name, &OptunaParameter::name);
        if (known != trial.params.end()) trial.params.erase(known);
        trial.params.push_back({name, value, std::move(distribution)});
    }

    static void set_values(OptunaTrial& trial, const nlohmann::json& values) {
        if (values.is_null()) return;
        trial.values.clear();
        if (!values.is_array()) trial.values.push_back(journal_number(values));
        if (values.is_array())
            for (const nlohmann::json& value : values) trial.values.push_back(journal_number(value));
    }

    void set_state(const nlohmann::json& operation) {
        OptunaTrial& changed = trial(operation);
        Place& place = trials_.at(index(operation, "trial_id"));
        const bool has_ended = changed.state != states[0] && changed.state != states[4];
        if (has_ended) return;
        changed.state = states.at(operation.at("state").get<std::size_t>());
        set_values(changed, operation.at("values"));
        if (const auto time = time_in(operation, "datetime_start")) place.started = time;
        if (const auto time = time_in(operation, "datetime_complete")) place.ended = time;
    }

    static void take_attributes(OptunaTrial& trial, const nlohmann::json& attributes) {
        for (const auto& [key, value] : attributes.items()) take_system_attribute(trial, key, value.dump());
    }

    std::vector<Entry> studies_;  ///< by Optuna's number
    std::vector<Place> trials_;   ///< likewise
};

}  // namespace

Result<OptunaStudy> read_optuna_journal(std::string_view text, const std::string& source, const std::string& name) {
    Journal journal;
    std::size_t line = 0;
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
        ++line;
        try {
            journal.take(nlohmann::json::parse(as_json(text.substr(0, end))));
        } catch (const std::exception&) {
            return Error{source + ":" + std::to_string(line) + ": is no operation of a journal of Optuna"};
        }
    }
    return std::move(journal).study(source, name);
}

}  // namespace hpo::importing
