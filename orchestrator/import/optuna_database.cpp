#include "orchestrator/import/optuna_database.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hpo/nearest.hpp"
#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"
#include "hpo/shell_word.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo::importing {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using sqlite::Database;
using sqlite::Statement;

/// A failure while the database is read, thrown and caught in this file.
struct Unreadable {
    Error error;
};

/// Returns the seconds since the epoch of "2026-11-29 19:00:20.234567", whose zone nothing tells, as if it were UTC.
std::optional<double> seconds_of_datetime(std::string_view text) {
    std::tm time{};
    const std::string whole(text);
    const char* rest = strptime(whole.c_str(), "%Y-%m-%d %H:%M:%S", &time);
    if (rest == nullptr) return std::nullopt;
    const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0;
    return static_cast<double>(timegm(&time)) + fraction;
}

/// Returns a stored number, whose kind is FINITE, INF_POS, INF_NEG or NAN.
double stored_number(const Statement& row, int column, int kind) {
    const std::string_view text = row.text(kind);
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (text == "INF_POS") return infinite;
    if (text == "INF_NEG") return -infinite;
    return text == "NAN" || row.null(column) ? std::numeric_limits<double>::quiet_NaN() : row.real(column);
}

class Reader {
   public:
    explicit Reader(const fs::path& file, Database database) : file_(file), database_(std::move(database)) {}

    OptunaStudy read(const std::string& name) {
        if (const auto begun = database_.run("BEGIN"); !begun) throw Unreadable{begun.error()};
        check_schema();
        OptunaStudy study;
        const std::int64_t id = choose(name, study.name);
        each("SELECT direction FROM study_directions WHERE study_id = ?1 ORDER BY objective", id,
             [&](const Statement& row) {
                 study.directions.push_back(row.text(0) == "MAXIMIZE" ? Direction::maximize : Direction::minimize);
             });
        if (study.directions.empty()) throw Unreadable{{file_.string() + ": study '" + name + "' has no direction"}};
        each("SELECT value_json FROM study_system_attributes WHERE study_id = ?1 AND key = 'study:metric_names'", id,
             [&](const Statement& row) {
                 const json names = json::parse(row.text(0), nullptr, false);
                 if (names.is_array() && names.size() == study.directions.size() &&
                     std::ranges::all_of(names, [](const json& one) { return one.is_string(); }))
                     study.metrics = names.get<std::vector<std::string>>();
             });
        read_trials(id, study);
        each("SELECT count(*) FROM study_user_attributes WHERE study_id = ?1", id,
             [&](const Statement& row) { study.user_attributes += row.integer(0); });
        each(
            "SELECT count(*) FROM trial_user_attributes WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id "
            "= ?1)",
            id, [&](const Statement& row) { study.user_attributes += row.integer(0); });
        return study;
    }

   private:
    void each(const std::string& sql, std::int64_t id, const std::function<void(const Statement&)>& take) {
        auto statement = database_.prepare(sql);
        if (!statement) throw Unreadable{statement.error()};
        if (id != 0) statement->bind(1, id);
        Statement::Step step;
        while ((step = statement->step()) == Statement::Step::row) take(*statement);
        if (step == Statement::Step::failed) throw Unreadable{database_.error()};
    }

    bool has_column(const std::string& table, const std::string& column) {
        bool found = false;
        each("SELECT name FROM pragma_table_info('" + table + "')", 0,
             [&](const Statement& row) { found = found || row.text(0) == column; });
        return found;
    }

    void check_schema() {
        if (!has_column("studies", "study_name") || !has_column("trials", "state"))
            throw Unreadable{{file_.string() + ": is a database, but not one of Optuna"}};
        if (!has_column("trial_values", "objective") || !has_column("trial_intermediate_values", "step"))
            throw Unreadable{{file_.string() +
                              ": was written by an Optuna before 2.4: copy it, bring the copy up to "
                              "date by 'optuna storage upgrade --storage sqlite:///COPY', and import that"}};
    }

    /// Returns the id of the study, and its name.
    std::int64_t choose(const std::string& name, std::string& found) {
        std::vector<std::string> names;
        std::int64_t chosen = 0;
        each("SELECT study_id, study_name FROM studies ORDER BY study_id", 0, [&](const Statement& row) {
            names.emplace_back(row.text(1));
            if (names.back() == name || name.empty()) chosen = row.integer(0), found = names.back();
        });
        if (names.empty()) throw Unreadable{{file_.string() + ": has no study"}};
        if (chosen != 0 && (!name.empty() || names.size() == 1)) return chosen;
        constexpr std::size_t most = 20;
        std::string listed;
        for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
            listed += (i == 0 ? "" : ", ") + printable(names[i]);
        if (names.size() > most) listed += " and " + std::to_string(names.size() - most) + " more";
        if (name.empty())
            throw Unreadable{{file_.string() + ": has several studies, choose one by --study: " + listed}};
        const std::string_view meant = nearest(name, {names.begin(), names.end()});
        throw Unreadable{{file_.string() + ": has no study '" + printable(name) + "'" +
                          (meant.empty() ? "" : "; did you mean '" + printable(meant) + "'?") + " It has " + listed}};
    }

    void read_trials(std::int64_t id, OptunaStudy& study) {
        constexpr const char* of_study = " IN (SELECT trial_id FROM trials WHERE study_id = ?1)";
        std::unordered_map<std::int64_t, std::size_t> at;
        double begin = std::numeric_limits<double>::infinity(), end = 0;
        each(
            "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE study_id = ?1 ORDER "
            "BY number, trial_id",
            id, [&](const Statement& row) {
                at.emplace(row.integer(0), study.trials.size());
                OptunaTrial trial{.number = row.integer(1), .state = std::string(row.text(2)), .steps = {}};
                const auto started = seconds_of_datetime(row.text(3)), ended = seconds_of_datetime(row.text(4));
                if (started) begin = std::min(begin, *started);
                if (ended) end = std::max(end, *ended);
                if (started && ended && *ended >= *started) trial.seconds = *ended - *started;
                study.trials.push_back(std::move(trial));
            });
        study.seconds = std::max(0.0, end - begin);
        const auto trial = [&](const Statement& row) -> OptunaTrial& { return study.trials[at.at(row.integer(0))]; };
        each(std::string(
                 "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params WHERE trial_id") +
                 of_study + " ORDER BY trial_id, param_id",
             id, [&](const Statement& row) {
                 trial(row).params.push_back(
                     {std::string(row.text(1)), row.null(2) ? std::nan("") : row.real(2), std::string(row.text(3))});
             });
        // Before Optuna 3.0 numbers had no kind, and what is not finite was not stored.
        const auto kind = [&](const std::string& table, const std::string& column) {
            return has_column(table, column) ? column : std::string("'FINITE'");
        };
        each("SELECT trial_id, objective, value, " + kind("trial_values", "value_type") +
                 " FROM trial_values WHERE trial_id" + of_study + " ORDER BY trial_id, objective",
             id, [&](const Statement& row) { trial(row).values.push_back(stored_number(row, 2, 3)); });
        each("SELECT trial_id, step, intermediate_value, " +
                 kind("trial_intermediate_values", "intermediate_value_type") +
                 " FROM trial_intermediate_values WHERE trial_id" + of_study,
             id, [&](const Statement& row) { trial(row).steps[row.integer(1)] = stored_number(row, 2, 3); });
        each(std::string("SELECT trial_id, key, value_json FROM trial_system_attributes WHERE key IN ('constraints', "
                         "'fail_reason') AND trial_id") +
                 of_study,
             id, [&](const Statement& row) {
                 const json value = json::parse(row.text(2), nullptr, false);
                 if (value.is_string() && row.text(1) == "fail_reason") trial(row).failure = value.get<std::string>();
                 if (!value.is_array() || row.text(1) != "constraints") return;
                 for (const json& one : value)
                     if (one.is_number()) trial(row).constraints.push_back(one.get<double>());
             });
    }

    fs::path file_;
    Database database_;
};

}  // namespace

Result<OptunaStudy> read_optuna_database(const fs::path& file, const std::string& name) {
    constexpr int patience_ms = 5000;
    constexpr std::string_view magic("SQLite format 3\0", 16);
    if (const auto regular = check_regular(file); !regular) return regular.error();
    std::string first(magic.size(), '\0');
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    stream.read(first.data(), static_cast<std::streamsize>(first.size()));
    if (first != magic)
        return Error{file.string() +
                     ": is no SQLite database: copy the study of another storage into one by "
                     "optuna.copy_study(..., to_storage=\"sqlite:///optuna.db\")"};
    auto database = Database::open(file, sqlite::Mode::read_only, patience_ms);
    if (!database) return database.error();
    try {
        return Reader(file, *std::move(database)).read(name);
    } catch (const Unreadable& unreadable) {
        return unreadable.error;
    }
}

}  // namespace hpo::importing
