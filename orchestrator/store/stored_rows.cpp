#include "orchestrator/store/stored_rows.hpp"

#include <optional>

#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/event_codec.hpp"
#include "orchestrator/store/packed.hpp"

namespace hpo {

using sqlite::Statement;

namespace {

Result<std::int64_t> number(sqlite::Database& database, const std::string& sql) {
    auto text = database.value(sql);
    if (!text) return text.error();
    return std::stoll(*text);
}

}  // namespace

Result<void> StoredRows::make(Statement& statement, const std::string& sql) {
    auto made = database_.prepare(sql);
    if (!made) return made.error();
    statement = *std::move(made);
    return {};
}

Result<void> StoredRows::follow_schema() {
    if (schema_ == schema_version) return {};
    const auto version = number(database_, "PRAGMA user_version");
    if (!version) return version.error();
    if (auto known = check_version(file_, *version); !known) return known;
    if (*version == schema_) return {};
    schema_ = *version;

    const bool packed = schema_ >= 2;
    const std::string event = "SELECT sequence, time, kind, trial, attempt, body, sum, NULL, NULL FROM event ";
    const std::string step = "SELECT sequence, time, 100, trial, attempt, body, sum, NULL, NULL FROM step ";
    const std::string since = "WHERE sequence > ?1 ";
    auto made = make(events_, event + since + (packed ? "UNION ALL " + step + since : "") + "ORDER BY 1 LIMIT ?2");
    if (made) made = make(proposal_, event + "WHERE kind = 3 AND trial = ?");
    if (made) made = make(steps_, (packed ? step + "WHERE" : event + "WHERE kind = 5 AND") + " trial = ? ORDER BY 1");
    return made;
}

/// Prepares a temporary table of the rows that a resumed study must read.
Result<void> StoredRows::prepare_resume() {
    if (resume_prepared_) return {};
    constexpr const char* needed = R"sql(
        CREATE TEMP TABLE needed (sequence INTEGER PRIMARY KEY, body BLOB, sum INTEGER);
        INSERT INTO needed SELECT sequence, body, sum FROM mark;
        INSERT OR IGNORE INTO needed SELECT step.sequence, NULL, NULL FROM
            (SELECT trial FROM event WHERE kind = 3 EXCEPT SELECT trial FROM event WHERE kind = 8) AS unfinished
            CROSS JOIN step ON step.trial = unfinished.trial;
    )sql";
    if (auto made = database_.run(needed); !made) return made;
    auto made = make(resume_,
                     "SELECT sequence, time, kind, trial, attempt, body, sum, NULL, NULL FROM event "
                     "WHERE sequence > ?1 UNION ALL "
                     "SELECT needed.sequence, time, 100, trial, attempt, step.body, step.sum, needed.body, needed.sum "
                     "FROM needed CROSS JOIN step ON step.sequence = needed.sequence WHERE needed.sequence > ?1 "
                     "ORDER BY 1 LIMIT ?2");
    resume_prepared_ = made.ok();
    return made;
}

Result<std::vector<StoredEvent>> StoredRows::events(std::int64_t after, std::size_t limit) {
    if (auto same = follow_schema(); !same) return same.error();
    events_.bind(1, after);
    events_.bind(2, static_cast<std::int64_t>(limit));
    return read_all(events_, after + 1);
}

Result<StoredEvent> StoredRows::proposal(std::int64_t trial) {
    if (auto same = follow_schema(); !same) return same.error();
    proposal_.bind(1, trial);
    auto read = read_all(proposal_, 0);
    if (!read) return read.error();
    if (read->empty()) return damaged("the proposal of trial " + std::to_string(trial), "missing");
    return std::move(read->front());
}

Result<std::vector<StoredEvent>> StoredRows::steps(std::int64_t trial) {
    if (auto same = follow_schema(); !same) return same.error();
    steps_.bind(1, trial);
    return read_all(steps_, 0);
}

Result<std::vector<StoredEvent>> StoredRows::events_to_resume(std::int64_t after, std::size_t limit) {
    if (auto prepared = prepare_resume(); !prepared) return prepared.error();
    resume_.bind(1, after);
    resume_.bind(2, static_cast<std::int64_t>(limit));
    return read_all(resume_, 0);
}

Result<std::int64_t> StoredRows::last_sequence() {
    return number(database_, schema_ < 2 ? "SELECT coalesce(max(sequence), 0) FROM event"
                                         : "SELECT max((SELECT coalesce(max(sequence), 0) FROM event), "
                                           "(SELECT coalesce(max(sequence), 0) FROM step))");
}

Result<std::int64_t> StoredRows::last_trial() {
    return number(database_, "SELECT coalesce(max(trial), 0) FROM event WHERE kind = 3");
}

Error StoredRows::damaged(const std::string& what, const std::string& why) const {
    return {file_.string() + ": the database is corrupt: " + what + ": " + why +
            "; nothing was changed: restore it from a copy"};
}

/// Reads all rows of a statement with bound parameters. `next` is the first row's sequence, from which on there are no
/// gaps; 0: gaps are allowed.
Result<std::vector<StoredEvent>> StoredRows::read_all(Statement& select, std::int64_t next) {
    std::vector<StoredEvent> events;
    std::optional<Error> error;
    for (;;) {
        const auto step = select.step();
        if (step == Statement::Step::failed) error = database_.error();
        if (step != Statement::Step::row) break;
        auto event = read_row(select, next);
        if (!event) {
            error = event.error();
            break;
        }
        events.push_back(*std::move(event));
        if (next != 0) ++next;
    }
    select.reset();  // ends the read, so that the writer's log can be checkpointed
    if (error) return *error;
    return events;
}

/// Reads the statement's current row.
Result<StoredEvent> StoredRows::read_row(const Statement& row, std::int64_t expected) const {
    const std::int64_t sequence = row.integer(0);
    const double time = row.real(1);
    const int kind = static_cast<int>(row.integer(2));
    const std::int64_t trial = row.integer(3);
    const std::int64_t attempt = row.integer(4);
    const std::string_view body = row.bytes(5);
    if (expected != 0 && sequence != expected) return damaged("event " + std::to_string(expected), "missing");
    const std::string name = "event " + std::to_string(sequence);
    if (row.integer(6) != row_sum(sequence, time, kind, trial, attempt, body)) return damaged(name, "its sum differs");
    auto event = to_event(kind, trial, attempt, body);
    if (!event) return damaged(name, event.error().message);
    StoredEvent stored{sequence, time, *std::move(event), {}};
    if (row.null(7)) return stored;
    const std::string_view mark = row.bytes(7);
    if (row.integer(8) != row_sum(sequence, mark)) return damaged("the mark of " + name, "its sum differs");
    try {
        stored.so_far = packed::to_so_far(mark);
    } catch (const std::exception& broken) {
        return damaged("the mark of " + name, broken.what());
    }
    return stored;
}

}  // namespace hpo
