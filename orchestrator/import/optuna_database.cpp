#include "orchestrator/import/optuna_database.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hpo/sqlite_file.hpp"
#include "orchestrator/import/optuna_journal.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo::importing {

namespace {

namespace fs = std::filesystem;
using sqlite::Database;
using sqlite::Statement;

/// A failure while the database is read, thrown and caught in this file.
struct Unreadable {
    Error error;
};

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
             [&](const Statement& row) { study.metrics = metric_names(row.text(0)); });
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
        std::vector<std::int64_t> ids;
        each("SELECT study_id, study_name FROM studies ORDER BY study_id", 0, [&](const Statement& row) {
            ids.push_back(row.integer(0));
            names.emplace_back(row.text(1));
        });
        const auto chosen = choose_optuna_study(names, name, file_.string());
        if (!chosen) throw Unreadable{chosen.error()};
        found = names[*chosen];
        return ids[*chosen];
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
        each(std::string("SELECT trial_id, key, value_json FROM trial_system_attributes WHERE trial_id") + of_study, id,
             [&](const Statement& row) { take_system_attribute(trial(row), std::string(row.text(1)), row.text(2)); });
    }

    fs::path file_;
    Database database_;
};

}  // namespace

Result<OptunaStudy> read_optuna(const fs::path& file, const std::string& name) {
    constexpr int patience_ms = 5000;
    std::error_code ignored;
    if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
        return Error{file.string() + (fs::is_directory(file, ignored) ? ": is a folder" : ": is no regular file") +
                     ": name the database or the journal in which Optuna has its studies"};
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    std::string text(sqlite_magic.size(), '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.starts_with('{')) {
        text.append(std::istreambuf_iterator<char>(stream), {});
        return read_optuna_journal(text, file.string(), name);
    }
    if (text != sqlite_magic)
        return Error{
            file.string() +
            ": is neither an SQLite database nor a journal of Optuna: copy the study of another storage into a "
            "database by optuna.copy_study(..., to_storage=\"sqlite:///optuna.db\")"};
    stream.close();
    auto database = Database::open(file, sqlite::Mode::read_only, patience_ms);
    if (!database) return database.error();
    try {
        return Reader(file, *std::move(database)).read(name);
    } catch (const Unreadable& unreadable) {
        return unreadable.error;
    }
}

}  // namespace hpo::importing
