#include <unistd.h>

#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "hpo/interrupted.hpp"
#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/event_clock.hpp"
#include "orchestrator/store/event_codec.hpp"
#include "orchestrator/store/file_system.hpp"
#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

constexpr int writer_patience_ms = 10'000;
constexpr int reader_patience_ms = 1'000;
constexpr double told_after = 3, interrupted_patience = 0.3;  // seconds

/// A writer waits for a lock as long as it takes, but does not keep an interrupted program from ending.
std::function<bool(double)> patience_of_a_writer(std::string file, std::function<void(const std::string&)> tell) {
    return [file = std::move(file), tell = std::move(tell), told = false](double waited) mutable {
        if (waited >= told_after && !std::exchange(told, true) && tell)
            tell(file + " is locked by another program: the study waits for it");
        return interrupted_by == 0 || waited < interrupted_patience;
    };
}

class SqliteStore final : public Store {
   public:
    /// `database` is checked and open. Prepares what is used again and again and reads how far the study is.
    static Result<std::unique_ptr<Store>> make(fs::path file, sqlite::Database database, bool writes) {
        auto store = std::unique_ptr<SqliteStore>(new SqliteStore(std::move(file), std::move(database), writes));
        if (auto begun = store->begin(); !begun) return begun.error();
        return std::unique_ptr<Store>(std::move(store));
    }

    [[nodiscard]] std::string source() const override { return source_; }

    Result<void> set_source(const std::string& yaml) override {
        if (!writes_) return read_only();
        if (auto level = synchronise(true); !level) return level;
        auto statement = database_.prepare("INSERT OR REPLACE INTO study VALUES ('source', ?)");
        if (!statement) return statement.error();
        statement->bind(1, yaml);
        if (statement->step() != Statement::Step::done) return database_.error();
        source_ = yaml;
        return {};
    }

    Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const override {
        std::vector<StoredEvent> events;
        select_.bind(1, after);
        select_.bind(2, static_cast<std::int64_t>(limit));
        std::optional<Error> error;
        for (;;) {
            const auto step = select_.step();
            if (step == Statement::Step::failed) error = database_.error();
            if (step != Statement::Step::row) break;
            auto event = read_row(after + 1 + static_cast<std::int64_t>(events.size()));
            if (!event) {
                error = event.error();
                break;
            }
            events.push_back(std::move(*event));
        }
        select_.reset();  // ends the read: the writer's log can be folded into the file again
        if (error) return *error;
        return events;
    }

    Result<StoredEvent> append(const Event& event) override {
        if (!writes_) return read_only();
        if (auto known = check_trial(event); !known) return known.error();
        StoredEvent stored{sequence_ + 1, clock_.now(), event};
        const EventRow row = to_row(event);
        if (row.kind == kind_proposed)
            if (auto back = to_event(row.kind, row.trial, row.attempt, row.body); !back)
                return Error{"trial " + std::to_string(row.trial) + " cannot be stored: " + back.error().message};
        if (auto level = synchronise(is_durable(event)); !level) return level.error();
        insert_.bind(1, stored.sequence);
        insert_.bind(2, stored.time);
        insert_.bind(3, std::int64_t{row.kind});
        insert_.bind(4, row.trial);
        insert_.bind(5, row.attempt);
        insert_.bind(6, row.body);
        insert_.bind(7,
                     std::int64_t{row_sum(stored.sequence, stored.time, row.kind, row.trial, row.attempt, row.body)});
        const bool done = insert_.step() == Statement::Step::done;
        const Error error = done ? Error{} : database_.error();
        insert_.reset();
        if (!done) return error;
        sequence_ = stored.sequence;
        if (row.kind == kind_proposed) trials_ = row.trial;
        return stored;
    }

   private:
    SqliteStore(fs::path file, sqlite::Database database, bool writes)
        : file_(std::move(file)), database_(std::move(database)), writes_(writes) {}

    Result<void> begin() {
        // The log is folded into the file every 1000 pages and cut back after a burst.
        if (writes_)
            if (auto set = database_.run("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216"); !set)
                return set;
        const auto source = database_.value("SELECT value FROM study WHERE key = 'source'");
        if (!source) return source.error();
        source_ = *source;
        const auto last = database_.value("SELECT coalesce(max(sequence), 0) FROM event");
        const auto trials = database_.value("SELECT coalesce(max(trial), 0) FROM event WHERE kind = 3");
        if (!last) return last.error();
        if (!trials) return trials.error();
        sequence_ = std::stoll(*last);
        trials_ = std::stoll(*trials);
        auto select = database_.prepare(
            "SELECT sequence, time, kind, trial, attempt, body, sum FROM event WHERE sequence > ? ORDER BY sequence "
            "LIMIT ?");
        if (!select) return select.error();
        select_ = std::move(*select);
        if (!writes_) return {};
        auto insert = database_.prepare("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)");
        if (!insert) return insert.error();
        insert_ = std::move(*insert);
        return {};
    }

    [[nodiscard]] Error read_only() const { return {file_.string() + ": opened for reading alone"}; }

    /// Level of the next transaction; SQLite takes it between transactions alone.
    Result<void> synchronise(bool full) {
        if (full == full_) return {};
        if (auto set = database_.run(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"); !set)
            return set;
        full_ = full;
        return {};
    }

    [[nodiscard]] Result<void> check_trial(const Event& event) const {
        const std::int64_t trial = trial_of(event);
        const bool proposed = std::holds_alternative<event::Proposed>(event);
        if (proposed && trial != trials_ + 1)
            return Error{"trial " + std::to_string(trial) + " proposed, but the next one is " +
                         std::to_string(trials_ + 1)};
        const bool of_study =
            std::holds_alternative<event::SessionStarted>(event) || std::holds_alternative<event::SessionEnded>(event);
        if (!proposed && !of_study && (trial < 1 || trial > trials_))
            return Error{"an event of trial " + std::to_string(trial) + ", but there are " + std::to_string(trials_)};
        return {};
    }

    /// The row the statement stands on.
    [[nodiscard]] Result<StoredEvent> read_row(std::int64_t expected) const {
        const std::int64_t sequence = select_.integer(0);
        const double time = select_.real(1);
        const int kind = static_cast<int>(select_.integer(2));
        const std::int64_t trial = select_.integer(3);
        const std::int64_t attempt = select_.integer(4);
        const std::string_view body = select_.text(5);
        const auto damaged = [&](const std::string& why) {
            return Error{file_.string() + ": the database is corrupt: event " + std::to_string(expected) + ": " + why +
                         "; nothing was changed: restore it from a copy"};
        };
        if (sequence != expected) return damaged("missing");
        if (select_.integer(6) != row_sum(sequence, time, kind, trial, attempt, body))
            return damaged("its sum differs");
        auto event = to_event(kind, trial, attempt, body);
        if (!event) return damaged(event.error().message);
        return StoredEvent{sequence, time, std::move(*event)};
    }

    fs::path file_;
    EventClock clock_;
    sqlite::Database database_;
    bool writes_;
    bool full_ = true;
    std::string source_;
    std::int64_t sequence_ = 0;
    std::int64_t trials_ = 0;
    mutable Statement select_;
    Statement insert_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(const fs::path& file, std::function<void(const std::string&)> tell) {
    const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
    std::error_code error;
    if (!fs::is_directory(folder, error)) return Error{folder.string() + ": no such folder"};
    if (const auto network = network_file_system(folder))
        return Error{folder.string() + " lies on " + *network +
                     ", whose locks and shared memory are not those of one machine: set HPO_RUNS to a local folder"};
    if (::access(folder.c_str(), W_OK) != 0) return Error{folder.string() + ": the folder is read-only"};
    if (!fs::exists(fs::symlink_status(file, error))) {
        if (auto created = create_database(file); !created) return created.error();
    }
    if (auto whole = check_whole(file); !whole) return whole.error();
    if (::access(file.c_str(), W_OK) != 0) return Error{file.string() + ": the file is read-only"};
    auto database = sqlite::Database::open(file, sqlite::Mode::read_write, writer_patience_ms);
    if (!database) return database.error();
    database->wait_for_locks(patience_of_a_writer(file.string(), std::move(tell)));
    return SqliteStore::make(file, std::move(*database), true);
}

Result<std::unique_ptr<Store>> open_store_read_only(const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return Error{file.string() + ": no such file"};
    if (auto ours = check_identity(file); !ours) return ours.error();
    // Where nothing can be created beside it and no log waits, the file cannot change either.
    const bool still = !fs::exists(file.string() + "-wal", error) && ::access(file.parent_path().c_str(), W_OK) != 0;
    auto database =
        sqlite::Database::open(file, still ? sqlite::Mode::immutable : sqlite::Mode::read_only, reader_patience_ms);
    if (!database) return database.error();
    return SqliteStore::make(file, std::move(*database), false);
}

}  // namespace hpo
