#include <unistd.h>

#include <functional>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "hpo/interrupted.hpp"
#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/disk_sync.hpp"
#include "orchestrator/store/event_clock.hpp"
#include "orchestrator/store/event_codec.hpp"
#include "orchestrator/store/file_system.hpp"
#include "orchestrator/store/packed.hpp"
#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/store/stored_rows.hpp"
#include "orchestrator/store/telemetry_table.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

constexpr int writer_patience_ms = 10'000;
constexpr int reader_patience_ms = 1'000;
constexpr double noticed_after = 3, interrupted_patience = 0.3;  // seconds

/// A writer waits for a lock as long as it takes, but does not keep an interrupted program from ending.
std::function<bool(double)> patience_of_a_writer(std::string file, std::function<void(const std::string&)> warn) {
    return [file = std::move(file), warn = std::move(warn), warned = false](double waited) mutable {
        if (waited >= noticed_after && !std::exchange(warned, true) && warn)
            warn(file + " is locked by another program: the study waits for it");
        return interrupted_by == 0 || waited < interrupted_patience;
    };
}

class SqliteStore final : public Store {
   public:
    /// `database` is checked and open. Reads how far the study is.
    static Result<std::unique_ptr<Store>> make(fs::path file, sqlite::Database database, bool writes,
                                               std::function<Result<void>()> synchronise = {}) {
        auto store = std::unique_ptr<SqliteStore>(
            new SqliteStore(std::move(file), std::move(database), writes, std::move(synchronise)));
        if (auto begun = store->begin(); !begun) return begun.error();
        return std::unique_ptr<Store>(std::move(store));
    }

    [[nodiscard]] std::string source() const override { return source_; }

    Result<void> set_source(const std::string& yaml) override {
        ++results_;  // with it what an earlier session has written, which may have been killed before it was on the
                     // disk
        if (auto set = write([&] { return put("source", yaml); }); !set) return set;
        source_ = yaml;
        return sync_.wait(results_);
    }

    [[nodiscard]] std::string warm_start() const override { return kept("warm_start"); }
    Result<void> set_warm_start(const std::string& text) override {
        ++results_;
        return write([&] { return put("warm_start", text); });
    }

    [[nodiscard]] std::string seen_data() const override { return kept("data"); }
    Result<void> set_seen_data(const std::string& text) override {
        return write([&] { return put("data", text); });
    }

    Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const override {
        return rows_.events(after, limit);
    }
    Result<std::vector<StoredEvent>> steps(std::int64_t trial) const override { return rows_.steps(trial); }
    Result<std::vector<StoredEvent>> events_to_resume(std::int64_t after, std::size_t limit) const override {
        return rows_.events_to_resume(after, limit);
    }
    [[nodiscard]] std::int64_t summarized() const override {
        const auto sequence = rows_.summarized();
        return sequence ? *sequence : 0;
    }
    Result<void> read_summary(StudyRecord& record) const override { return rows_.read_summary(record); }

    Result<StoredEvent> append(const Event& event) override {
        auto stored = add(event);
        if (!stored) return stored;
        if (auto written = write(); !written) return written.error();
        return stored;
    }

    Result<StoredEvent> add(const Event& event) override {
        if (!writes_) return read_only();
        if (auto known = check_trial(event); !known) return known.error();
        EventRow row = to_row(event);
        if (row.kind == kind_proposed)
            if (auto back = to_event(row.kind, row.trial, row.attempt, row.body); !back)
                return Error{"trial " + std::to_string(row.trial) + " cannot be stored: " + back.error().message};
        StoredEvent stored{sequence_ + 1, clock_.now(), event, {}};
        sequence_ = stored.sequence;
        if (row.kind == kind_proposed) trials_ = row.trial;
        if (is_durable(event)) ++results_;
        waiting_.push_back({stored.sequence, stored.time, std::move(row)});
        return stored;
    }

    Result<void> flush() override { return waiting_.empty() && marks_.empty() ? Result<void>{} : write(); }

    [[nodiscard]] std::int64_t results() const override { return results_; }
    [[nodiscard]] Result<std::int64_t> results_on_disk() const override { return sync_.reached(); }
    void when_on_disk(std::function<void()> listener) override { sync_.listen(std::move(listener)); }
    Result<void> settle() override {
        if (auto flushed = flush(); !flushed) return flushed;
        return sync_.wait(results_);
    }

    Result<void> mark(const Mark& mark) override {
        marks_.push_back(mark);
        return {};
    }

    [[nodiscard]] std::string marked_for() const override {
        if (rows_.schema() < 2) return {};
        const auto purpose = database_.value("SELECT value FROM study WHERE key = 'marks'");
        return purpose ? *purpose : std::string();
    }

    Result<void> remark(const std::string& purpose, std::span<const Mark> marks) override {
        return write([&]() -> Result<void> {
            if (auto cleared = database_.run("DELETE FROM mark"); !cleared) return cleared;
            for (const Mark& mark : marks)
                if (auto kept = insert(mark); !kept) return kept;
            return put("marks", purpose);
        });
    }

    Result<void> add_telemetry(std::span<const TelemetryRow> rows) override {
        return write([&] { return insert_telemetry(database_, rows); });
    }
    [[nodiscard]] Result<std::vector<TelemetryRow>> telemetry() const override { return read_telemetry(database_); }

    Result<void> summarize(const StudyRecord& record, std::span<const std::int64_t> trials) override {
        return write([&]() -> Result<void> {
            for (const std::int64_t number : trials)
                if (auto kept = insert_summary(number, record.sequence, packed::of(record.trial(number))); !kept)
                    return kept;
            return insert_summary(0, record.sequence, packed::of_totals(record));
        });
    }

   private:
    struct Waiting {
        std::int64_t sequence = 0;
        double time = 0;
        EventRow row;
    };

    SqliteStore(fs::path file, sqlite::Database database, bool writes, std::function<Result<void>()> synchronise)
        : file_(std::move(file)),
          database_(std::move(database)),
          writes_(writes),
          synchronise_(std::move(synchronise)) {}

    Result<void> begin() {
        // The log is folded into the file every 2000 pages and cut back after a burst.
        if (writes_)
            if (auto set = database_.run("PRAGMA wal_autocheckpoint = 2000; PRAGMA journal_size_limit = 16777216; "
                                         "PRAGMA temp_store = MEMORY");
                !set)
                return set;
        const auto source = database_.value("SELECT value FROM study WHERE key = 'source'");
        if (!source) return source.error();
        source_ = *source;
        if (auto known = rows_.follow_schema(); !known) return known;
        const auto last = rows_.last_sequence(), trials = rows_.last_trial();
        if (!last) return last.error();
        if (!trials) return trials.error();
        sequence_ = kept_sequence_ = *last;
        trials_ = kept_trials_ = *trials;
        return {};
    }

    /// The first of a session brings an older schema to this one: a run that is refused before leaves the study as it
    /// was.
    Result<void> prepare() {
        if (prepared_) return {};
        if (!writes_) return read_only();
        if (rows_.schema() != schema_version) {
            if (auto migrated = migrate(file_, database_); !migrated) return migrated;
            if (auto followed = rows_.follow_schema(); !followed) return followed;
        }
        if (auto set = prepare_log(); !set) return set;
        for (const auto& [statement, sql] :
             {std::pair{&insert_event_, "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)"},
              {&insert_step_, "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?)"},
              {&insert_mark_, "INSERT OR IGNORE INTO mark VALUES (?, ?, ?)"},
              {&insert_summary_, "INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?)"},
              {&put_, "INSERT OR REPLACE INTO study VALUES (?, ?)"},
              {&begin_, "BEGIN IMMEDIATE"},
              {&commit_, "COMMIT"}}) {
            auto made = database_.prepare(sql);
            if (!made) return made.error();
            *statement = *std::move(made);
        }
        prepared_ = true;
        return {};
    }

    /// At this level SQLite synchronises the log before it copies pages from it to the file, and the file before it
    /// begins the log anew, and leaves the rest to us: what is in the log, or was, is on the disk once the log has been
    /// synchronised after the commit (https://www.sqlite.org/pragma.html#pragma_synchronous).
    Result<void> prepare_log() {
        const auto journal = database_.value("PRAGMA journal_mode = WAL");
        if (!journal) return journal.error();
        if (*journal != "wal") return Error{file_.string() + ": this file system has no write-ahead logging"};
        if (auto set = database_.run("PRAGMA synchronous = NORMAL"); !set) return set;
        if (synchronise_) return {};
        auto log = synchronise_log(database_.log_name());
        if (!log) return log.error();
        synchronise_ = *std::move(log);
        return {};
    }

    /// All that waits, and what `more` adds, as one transaction. An Error: nothing of it was written, and nothing waits
    /// any more.
    Result<void> write(const std::function<Result<void>()>& more = [] { return Result<void>{}; }) {
        auto written = prepare();
        if (auto sound = sync_.reached(); written && !sound) written = sound.error();
        if (written) written = run(begin_);
        if (written) {
            written = insert_waiting();
            if (written) written = more();
            if (written) written = run(commit_);
            if (!written) (void)database_.run("ROLLBACK");  // SQLite may have done so itself
        }
        waiting_.clear();
        marks_.clear();
        if (written) {
            kept_sequence_ = sequence_;
            kept_trials_ = trials_;
            kept_results_ = results_;
            if (results_ > 0) sync_.request(results_);
        } else {
            sequence_ = kept_sequence_;
            trials_ = kept_trials_;
            results_ = kept_results_;
        }
        return written;
    }

    Result<void> insert_waiting() {
        for (const auto& [sequence, time, row] : waiting_) {
            const bool step = row.kind == kind_step;
            Statement& statement = step ? insert_step_ : insert_event_;
            int column = 0;
            statement.bind(++column, sequence);
            statement.bind(++column, time);
            if (!step) statement.bind(++column, std::int64_t{row.kind});
            statement.bind(++column, row.trial);
            statement.bind(++column, row.attempt);
            step ? statement.bind_bytes(++column, row.body) : statement.bind(++column, std::string_view(row.body));
            statement.bind(++column, std::int64_t{row_sum(sequence, time, row.kind, row.trial, row.attempt, row.body)});
            if (auto done = run(statement); !done) return done;
        }
        for (const Mark& mark : marks_)
            if (auto done = insert(mark); !done) return done;
        return {};
    }

    Result<void> insert(const Mark& mark) {
        const std::string body = packed::of(mark.so_far);
        insert_mark_.bind(1, mark.sequence);
        insert_mark_.bind_bytes(2, body);
        insert_mark_.bind(3, std::int64_t{row_sum(mark.sequence, body)});
        return run(insert_mark_);
    }

    Result<void> insert_summary(std::int64_t trial, std::int64_t sequence, const std::string& body) {
        insert_summary_.bind(1, trial);
        insert_summary_.bind(2, sequence);
        insert_summary_.bind_bytes(3, body);
        insert_summary_.bind(4, std::int64_t{row_sum(trial, body)});
        return run(insert_summary_);
    }

    [[nodiscard]] std::string kept(const std::string& key) const {
        const auto text = database_.value("SELECT value FROM study WHERE key = '" + key + "'");
        return text ? *text : std::string();
    }

    Result<void> put(std::string_view key, std::string_view value) {
        put_.bind(1, key);
        put_.bind(2, value);
        return run(put_);
    }

    /// A statement that returns nothing.
    Result<void> run(Statement& statement) {
        const bool done = statement.step() == Statement::Step::done;
        const Error error = done ? Error{} : database_.error();
        statement.reset();
        if (!done) return error;
        return {};
    }

    [[nodiscard]] Error read_only() const { return {file_.string() + ": opened for reading alone"}; }

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

    fs::path file_;
    EventClock clock_;
    mutable sqlite::Database database_;
    mutable StoredRows rows_{file_, database_};
    bool writes_;
    bool prepared_ = false;          ///< for writing
    std::int64_t results_ = 0;       ///< as Store counts them
    std::int64_t kept_results_ = 0;  ///< of the last transaction
    std::function<Result<void>()> synchronise_;
    DiskSync sync_{[this] { return synchronise_(); }};
    std::string source_;
    std::vector<Waiting> waiting_;  ///< added, for the next transaction
    std::vector<Mark> marks_;       ///< the same
    std::int64_t sequence_ = 0;     ///< with those that wait
    std::int64_t trials_ = 0;
    std::int64_t kept_sequence_ = 0;  ///< of the last transaction
    std::int64_t kept_trials_ = 0;
    Statement insert_event_, insert_step_, insert_mark_, insert_summary_, put_, begin_, commit_;
};

}  // namespace

Result<std::vector<StoredEvent>> Store::steps(std::int64_t trial) const {
    auto all = events(0, std::numeric_limits<std::int64_t>::max());
    if (all)
        std::erase_if(*all, [&](const StoredEvent& stored) {
            const auto* reported = std::get_if<event::Reported>(&stored.event);
            return !reported || reported->trial != trial;
        });
    return all;
}

Result<std::unique_ptr<Store>> open_store(const fs::path& file, std::function<void(const std::string&)> warn,
                                          std::function<Result<void>()> synchronise) {
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
    database->wait_for_locks(patience_of_a_writer(file.string(), std::move(warn)));
    return SqliteStore::make(file, std::move(*database), true, std::move(synchronise));
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
