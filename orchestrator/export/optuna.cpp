#include "orchestrator/export/optuna.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "hpo/standing.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/export/registry.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo::exporting {

namespace {

using Json = nlohmann::ordered_json;
using sqlite::Database;
using sqlite::Statement;

// The tables as Optuna 3.1 declares them. Its queries rely on the names and types of the columns.
constexpr const char* schema = R"sql(
CREATE TABLE studies (study_id INTEGER NOT NULL PRIMARY KEY, study_name VARCHAR(512) NOT NULL);
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE TABLE version_info (version_info_id INTEGER NOT NULL PRIMARY KEY CHECK (version_info_id = 1),
    schema_version INTEGER, library_version VARCHAR(256));
CREATE TABLE study_directions (study_direction_id INTEGER NOT NULL PRIMARY KEY, direction VARCHAR(8) NOT NULL,
    study_id INTEGER NOT NULL REFERENCES studies (study_id), objective INTEGER NOT NULL, UNIQUE (study_id, objective));
CREATE TABLE study_user_attributes (study_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
    study_id INTEGER REFERENCES studies (study_id), "key" VARCHAR(512), value_json TEXT, UNIQUE (study_id, "key"));
CREATE TABLE study_system_attributes (study_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
    study_id INTEGER REFERENCES studies (study_id), "key" VARCHAR(512), value_json TEXT, UNIQUE (study_id, "key"));
CREATE TABLE trials (trial_id INTEGER NOT NULL PRIMARY KEY, number INTEGER,
    study_id INTEGER REFERENCES studies (study_id), state VARCHAR(8) NOT NULL, datetime_start DATETIME,
    datetime_complete DATETIME);
CREATE TABLE trial_user_attributes (trial_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER REFERENCES trials (trial_id), "key" VARCHAR(512), value_json TEXT, UNIQUE (trial_id, "key"));
CREATE TABLE trial_system_attributes (trial_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER REFERENCES trials (trial_id), "key" VARCHAR(512), value_json TEXT, UNIQUE (trial_id, "key"));
CREATE TABLE trial_params (param_id INTEGER NOT NULL PRIMARY KEY, trial_id INTEGER REFERENCES trials (trial_id),
    param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT, UNIQUE (trial_id, param_name));
CREATE TABLE trial_values (trial_value_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trials (trial_id), objective INTEGER NOT NULL, value FLOAT,
    value_type VARCHAR(7) NOT NULL, UNIQUE (trial_id, objective));
CREATE TABLE trial_intermediate_values (trial_intermediate_value_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trials (trial_id), step INTEGER NOT NULL, intermediate_value FLOAT,
    intermediate_value_type VARCHAR(7) NOT NULL, UNIQUE (trial_id, step));
CREATE TABLE trial_heartbeats (trial_heartbeat_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER NOT NULL UNIQUE REFERENCES trials (trial_id), heartbeat DATETIME NOT NULL);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY);
INSERT INTO version_info VALUES (1, 12, '3.1.0');
INSERT INTO alembic_version VALUES ('v3.0.0.d');
)sql";

constexpr std::int64_t study_id = 1;

const char* state_of(const TrialRecord& trial, std::int64_t best) {
    switch (trial.state) {
        case TrialState::queued:
            return "WAITING";
        case TrialState::running:
            return "RUNNING";
        case TrialState::stopped:
            return trial.number == best ? "COMPLETE" : "PRUNED";
        case TrialState::paused:
            return "PRUNED";
        case TrialState::complete:
            if (trial.repeat_of != 0) return trial.value ? "PRUNED" : "FAIL";
            return trial.value ? "COMPLETE" : "FAIL";
        case TrialState::diverged:
        case TrialState::failed:
            break;
    }
    return "FAIL";
}

const char* number_type(double number) {
    if (std::isnan(number)) return "NAN";
    return !std::isinf(number) ? "FINITE" : number > 0 ? "INF_POS" : "INF_NEG";
}

std::string dump(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

Json attributes_of(const Study& study, const TrialRecord& trial) {
    Json attributes{{"trial", trial.number},
                    {"state", to_text(trial.state)},
                    {"steps", trial.steps()},
                    {"seed", given_seed(study, trial)},
                    {"attempt", trial.attempt}};
    if (trial.best_step > 0) attributes["best_step"] = trial.best_step;
    if (trial.repeat_of != 0) attributes["repeat_of"] = trial.repeat_of;
    if (!trial.seeds.empty()) attributes["seeds"] = trial.seeds;
    if (const Report* counts = counting_report(trial)) attributes["values"] = wire::from(counts->metrics);
    if (!trial.closing.empty()) attributes["closing"] = wire::from(trial.closing);
    for (const auto& [name, text] : {std::pair{"rule", &trial.rule}, std::pair{"reason", &trial.reason},
                                     std::pair{"device", &trial.allocation->device}})
        if (!text->empty()) attributes[name] = *text;
    for (const auto& [name, bytes] :
         {std::pair{"peak_host_bytes", trial.peak.host_bytes}, std::pair{"peak_device_bytes", trial.peak.device_bytes}})
        if (bytes > 0) attributes[name] = bytes;
    return attributes;
}

/// Returns the number of the best trial among those that are complete or stopped, or 0 if there is none.
std::int64_t best_of(const Study& study, const StudyRecord& record) {
    const TrialRecord* best = nullptr;
    for (const TrialRecord& trial : record.trials)
        if (trial.value && trial.repeat_of == 0 &&
            (trial.state == TrialState::complete || trial.state == TrialState::stopped) &&
            (!best || better(study.objective.direction, *trial.value, *best->value)))
            best = &trial;
    return best ? best->number : 0;
}

class Writer {
   public:
    static Result<Writer> open(const std::filesystem::path& file) {
        auto database = Database::open(file, sqlite::Mode::create, 1000);
        if (!database) return database.error();
        // No other process opens the file before it is complete, so its journal may be in memory.
        if (auto mode = database->value("PRAGMA journal_mode = MEMORY"); !mode) return mode.error();
        if (auto created = database->run(std::string("BEGIN;") + schema); !created) return created.error();
        Writer writer(std::move(*database));
        for (const auto& [statement, sql] :
             {std::pair{&writer.study_, "INSERT INTO studies VALUES (?1, ?2)"},
              std::pair{&writer.direction_, "INSERT INTO study_directions VALUES (?3 + 1, ?2, ?1, ?3)"},
              std::pair{&writer.study_user_, "INSERT INTO study_user_attributes VALUES (NULL, ?1, ?2, ?3)"},
              std::pair{&writer.study_system_, "INSERT INTO study_system_attributes VALUES (NULL, ?1, ?2, ?3)"},
              std::pair{&writer.trial_, "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, nullif(?5, ''), nullif(?6, ''))"},
              std::pair{&writer.user_, "INSERT INTO trial_user_attributes VALUES (NULL, ?1, ?2, ?3)"},
              std::pair{&writer.system_, "INSERT INTO trial_system_attributes VALUES (NULL, ?1, ?2, ?3)"},
              std::pair{&writer.param_, "INSERT INTO trial_params VALUES (NULL, ?1, ?2, ?3, ?4)"},
              std::pair{&writer.value_, "INSERT INTO trial_values VALUES (NULL, ?1, ?3, ?2, 'FINITE')"},
              std::pair{
                  &writer.intermediate_,
                  "INSERT INTO trial_intermediate_values VALUES (NULL, ?1, ?2, CASE ?4 WHEN 'FINITE' THEN ?3 END, "
                  "?4)"}}) {
            auto prepared = writer.database_.prepare(sql);
            if (!prepared) return prepared.error();
            *statement = std::move(*prepared);
        }
        return writer;
    }

    Result<void> add(const Study& study, const StudyRecord& record, const WholeTrial& whole) {
        put(study_, study_id, std::string_view(study.name));
        Json metric_names = Json::array({study.objective.metric});
        const auto add_direction = [&](Direction direction, std::int64_t objective) {
            put(direction_, study_id, std::string_view(direction == Direction::minimize ? "MINIMIZE" : "MAXIMIZE"),
                objective);
        };
        add_direction(study.objective.direction, 0);
        for (const Goal& goal : study.objective.further) {
            add_direction(goal.direction, static_cast<std::int64_t>(metric_names.size()));
            metric_names.push_back(goal.metric);
        }
        Json attributes{{"exported_by", std::string("hpo ") + version},
                        {"metric", study.objective.metric},
                        {"at", study.objective.at == Objective::At::best ? "best" : "last"},
                        {"seed", study.seed}};
        best_ = best_of(study, record);
        for (const auto& [name, value] : attributes.items())
            put(study_user_, study_id, std::string_view(name), std::string_view(dump(value)));
        put(study_system_, study_id, std::string_view("study:metric_names"), std::string_view(dump(metric_names)));
        for (const Dimension& dimension : study.space) distributions_.push_back(distribution_json(dimension));
        for (const TrialRecord& thinned : record.trials) {
            const auto trial = whole(thinned);
            if (!trial) return trial.error();
            add(study, record, *trial);
        }
        return {};
    }

    /// Commits the transaction, or returns the first error of add().
    Result<void> commit() {
        if (!failed_) return database_.run("COMMIT");
        return *failed_;
    }

   private:
    explicit Writer(Database database) : database_(std::move(database)) {}

    /// Optuna's times are local ones without a zone. All have the offset of the study's last event, so that no trial
    /// ends before it started when the clocks are set back.
    void add(const Study& study, const StudyRecord& record, const TrialRecord& trial) {
        const std::string_view state = state_of(trial, best_);
        const bool waits = state == "WAITING";
        const double started = trial.started_at > 0 ? trial.started_at : trial.queued_at;
        const bool ended = state != "RUNNING" && !waits;
        const auto text = [&](double time) { return offset_text(time, local_offset(record.last_time)); };
        put(trial_, trial.number, trial.number - 1, study_id, state, std::string_view(waits ? "" : text(started)),
            std::string_view(ended ? text(trial.ended_at > 0 ? trial.ended_at : record.last_time) : ""));
        for (std::size_t i = 0; i < study.space.size(); ++i) {
            const auto found = trial.params.find(study.space[i].name);
            if (found == trial.params.end()) continue;
            put(param_, trial.number, std::string_view(found->first), internal_value(study.space[i], found->second),
                std::string_view(distributions_[i]));
        }
        if (trial.value && (state == "COMPLETE" || state == "PRUNED")) {
            put(value_, trial.number, *trial.value, std::int64_t{0});
            for (std::size_t i = 0; i < study.objective.further.size(); ++i)
                if (const auto value = metric_that_counts(trial, study.objective.further[i].metric))
                    put(value_, trial.number, *value, static_cast<std::int64_t>(i) + 1);
        }
        if (const auto violations = violations_of(trial, study.objective); !violations.empty())
            put(system_, trial.number, std::string_view("constraints"), std::string_view(dump(Json(violations))));
        for (const Report& report : trial.curve) {
            const auto found = report.metrics.find(study.objective.metric);
            if (waits || found == report.metrics.end()) continue;
            put(intermediate_, trial.number, report.step, found->second, std::string_view(number_type(found->second)));
        }
        const Json attributes = attributes_of(study, trial);
        for (const auto& [name, value] : attributes.items())
            put(user_, trial.number, std::string_view(name), std::string_view(dump(value)));
    }

    /// Writes one row. Does nothing after a failure, which is kept in failed_.
    template <class... Values>
    void put(Statement& statement, Values... values) {
        if (failed_) return;
        int index = 0;
        (statement.bind(++index, values), ...);
        if (statement.step() != Statement::Step::done) failed_ = database_.error();
        statement.reset();
    }

    Database database_;
    Statement study_, direction_, study_user_, study_system_, trial_, user_, system_, param_, value_, intermediate_;
    std::vector<std::string> distributions_;
    std::int64_t best_ = 0;
    std::optional<Error> failed_;
};

}  // namespace

std::string distribution_json(const Dimension& dimension) {
    Json json;
    if (dimension.kind == Kind::categorical) {
        Json choices = Json::array();
        for (const Value& choice : dimension.choices) {
            // Optuna does not allow lists as choices.
            const bool list = std::holds_alternative<std::vector<std::int64_t>>(choice) ||
                              (std::holds_alternative<JsonText>(choice) && !is_null(choice));
            choices.push_back(list ? Json(to_text(choice)) : Json(wire::from(choice)));
        }
        json = {{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}};
    } else if (dimension.kind == Kind::integer) {
        const auto whole = [](double number) { return static_cast<std::int64_t>(number); };
        json = {{"name", "IntDistribution"},
                {"attributes",
                 {{"log", dimension.log},
                  {"step", whole(dimension.step.value_or(1))},
                  {"low", whole(dimension.low)},
                  {"high", whole(dimension.high)}}}};
    } else {
        json = {{"name", "FloatDistribution"},
                {"attributes",
                 {{"step", dimension.step ? Json(*dimension.step) : Json(nullptr)},
                  {"low", dimension.low},
                  {"high", dimension.high},
                  {"log", dimension.log}}}};
    }
    return dump(json);
}

double internal_value(const Dimension& dimension, const Value& value) {
    if (dimension.kind != Kind::categorical) return number_or(value, std::nan(""));
    const double number = number_or(value, std::nan(""));
    const auto same = [&](const Value& choice) { return choice == value || number_or(choice, std::nan("")) == number; };
    const auto found = std::find_if(dimension.choices.begin(), dimension.choices.end(), same);
    return static_cast<double>(found - dimension.choices.begin());
}

Result<void> no_journal_beside(const std::filesystem::path& path) {
    for (const char* suffix : {"-journal", "-wal", "-shm"}) {
        const std::filesystem::path journal = path.string() + suffix;
        std::error_code ignored;
        if (std::filesystem::exists(journal, ignored))
            return Error{journal.string() +
                         ": belongs to a database that is in use or was not closed; choose another name"};
    }
    return {};
}

Result<void> write_optuna(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const std::filesystem::path& file, const std::filesystem::path& shown) {
    const auto with_shown_path = [&](Error error) {
        if (const auto at = error.message.find(file.string()); at != std::string::npos)
            error.message.replace(at, file.string().size(), shown.string());
        return error;
    };
    if (auto usable = no_journal_beside(shown); !usable) return usable;
    auto writer = Writer::open(file);
    if (!writer) return with_shown_path(writer.error());
    if (auto added = writer->add(study, record, whole); !added) return added;
    if (auto done = writer->commit(); !done) return with_shown_path(done.error());
    return {};
}

const Format optuna_format{
    .name = "optuna", .description = "an SQLite database that Optuna opens", .write = write_optuna};

}  // namespace hpo::exporting
