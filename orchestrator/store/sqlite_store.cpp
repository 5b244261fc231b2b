#include "orchestrator/store/sqlite_store.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "hpo/doing.hpp"
#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/disk_sync.hpp"
#include "orchestrator/store/event_clock.hpp"
#include "orchestrator/store/event_codec.hpp"
#include "orchestrator/store/log_checkpoints.hpp"
#include "orchestrator/store/packed.hpp"
#include "orchestrator/store/result_log.hpp"
#include "orchestrator/store/stored_rows.hpp"
#include "orchestrator/store/summary_table.hpp"
#include "orchestrator/store/telemetry_table.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

class SqliteStore final : public Store {
   public:
    /// `database` is checked and open. Reads the progress of the study.
    static Result<std::unique_ptr<Store>> make(fs::path file, sqlite::Database database, bool writes,
                                               std::function<Result<void>()> synchronise,
                                               std::shared_ptr<const fs::path> copy) {
        auto store = std::unique_ptr<SqliteStore>(
            new SqliteStore(std::move(file), std::move(database), writes, std::move(synchronise)));
        store->copy_ = std::move(copy);
        if (auto begun = store->begin(); !begun) return begun.error();
        return std::unique_ptr<Store>(std::move(store));
    }

    [[nodiscard]] std::string source() const override { return source_; }

    Result<void> set_source(const std::string& yaml) override {
        ++counts_.results;  // and, with it, results of an earlier session that may have been killed before they were on
                            // the disk
        if (auto set = write([&] { return put("source", yaml); }); !set) return --counts_.results, set;
        source_ = yaml;
        return sync_.wait(counts_.results);
    }

    [[nodiscard]] std::string warm_start() const override { return kept("warm_start"); }
    Result<void> set_warm_start(const std::string& text) override {
        ++counts_.results;
        auto set = write([&] { return put("warm_start", text); });
        if (!set) --counts_.results;
        return set;
    }

    [[nodiscard]] std::string seen_data() const override { return kept("data"); }
    Result<void> set_seen_data(const std::string& text) override {
        return write([&] { return put("data", text); });
    }

    [[nodiscard]] std::string scripts() const override { return kept("scripts"); }
    Result<void> set_scripts(const std::string& text) override {
        return write([&] { return put("scripts", text); });
    }

    [[nodiscard]] bool stands_still() const override { return copy_ != nullptr; }

    [[nodiscard]] std::string missing_results() const override {
        if (missing_.empty()) return {};
        return file_.string() + ": results that were reported are missing: " + text_of(missing_) +
               ". The log of the last writes (study.db-wal) was damaged after the session was killed, or files were "
               "replaced";
    }

    Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const override {
        return rows_.events(after, limit);
    }
    Result<StoredEvent> proposal(std::int64_t trial) const override { return rows_.proposal(trial); }
    Result<std::vector<StoredEvent>> steps(std::int64_t trial) const override { return rows_.steps(trial); }
    Result<std::vector<StoredEvent>> events_to_resume(std::int64_t after, std::size_t limit) const override {
        return rows_.events_to_resume(after, limit);
    }
    [[nodiscard]] std::int64_t summarized() const override { return follow_schema() ? summary_.sequence() : 0; }
    Result<void> read_summary(StudyRecord& record) const override {
        if (auto same = follow_schema(); !same) return same;
        summary_.read(record);
        return {};
    }

    Result<StoredEvent> append(const Event& event) override {
        const Counts before = counts_;
        auto stored = add(event);
        if (!stored) return stored;
        if (auto written = write(); !written) {  // queued events stay queued
            waiting_.pop_back();
            if (counts_.results != before.results && std::holds_alternative<event::Finished>(event)) ends_.pop_back();
            counts_ = before;
            return written.error();
        }
        return stored;
    }

    Result<StoredEvent> add(const Event& event) override {
        if (!writes_) return read_only();
        if (auto known = check_trial(event); !known) return known.error();
        EventRow row = to_row(event);
        if (row.kind == kind_proposed)
            if (auto back = to_event(row.kind, row.trial, row.attempt, row.body); !back)
                return Error{"trial " + std::to_string(row.trial) + " cannot be stored: " + back.error().message};
        StoredEvent stored{counts_.sequence + 1, clock_.now(), event, {}};
        counts_.sequence = stored.sequence;
        if (row.kind == kind_proposed) counts_.trials = row.trial;
        if (is_durable(event)) ++counts_.results;
        ended_ = std::holds_alternative<event::SessionEnded>(event);
        const std::uint32_t sum = row_sum(stored.sequence, stored.time, row.kind, row.trial, row.attempt, row.body);
        if (const auto* end = std::get_if<event::Finished>(&event))
            ends_.push_back({stored.sequence, end->trial, end->state, value_of(end->trial), sum});
        waiting_.push_back({stored.sequence, stored.time, std::move(row), sum});
        return stored;
    }

    Result<void> flush() override { return waiting_.empty() && marks_.empty() ? Result<void>{} : write(); }

    [[nodiscard]] std::int64_t results() const override { return counts_.results; }
    [[nodiscard]] Result<std::int64_t> results_on_disk() const override { return sync_.reached(); }
    void when_on_disk(std::function<void()> listener) override { sync_.listen(std::move(listener)); }
    Result<void> settle() override {
        if (auto flushed = flush(); !flushed) return flushed;
        return ended_ ? sync_.settle(counts_.results) : sync_.wait(counts_.results);
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
        return write([&] { return summary_.write(record, trials); });
    }

   private:
    /// Writes all queued events, too.
    struct Counts {
        std::int64_t sequence = 0;
        std::int64_t trials = 0;
        std::int64_t results = 0;  ///< as Store counts them
    };
    struct Waiting {
        std::int64_t sequence = 0;
        double time = 0;
        EventRow row;
        std::uint32_t sum = 0;
    };

    SqliteStore(fs::path file, sqlite::Database database, bool writes, std::function<Result<void>()> synchronise)
        : file_(std::move(file)),
          database_(std::move(database)),
          writes_(writes),
          synchronise_(std::move(synchronise)) {}

    Result<void> begin() {
        // The log is cut back after a burst.
        if (writes_)
            if (auto set = database_.run("PRAGMA journal_size_limit = 16777216; "
                                         "PRAGMA temp_store = MEMORY");
                !set)
                return set;
        const auto source = database_.value("SELECT value FROM study WHERE key = 'source'");
        if (!source) return source.error();
        source_ = *source;
        if (auto known = follow_schema(); !known) return known;
        const auto last = rows_.last_sequence(), trials = rows_.last_trial();
        if (!last) return last.error();
        if (!trials) return trials.error();
        counts_.sequence = *last;
        counts_.trials = *trials;
        missing_ = result_log_.missing([this](const StoredEnd& end) {
            const auto sum = database_.value("SELECT sum FROM event WHERE sequence = " + std::to_string(end.sequence));
            return !sum || *sum == std::to_string(end.sum);  // damaged rows are reported elsewhere
        });
        if (!missing_.empty()) database_.checkpoint_on_close(false);  // the log stays as it is
        return {};
    }

    Result<void> follow_schema() const {
        const auto before = rows_.schema();
        if (auto known = rows_.follow_schema(); !known) return known;
        if (rows_.schema() == before || rows_.schema() < 2) return {};
        return summary_.prepare_reading();
    }

    /// Migrates an older schema at the first write of a session, so that a run that is refused before changes nothing.
    Result<void> prepare() {
        if (prepared_) return {};
        if (!writes_) return read_only();
        if (rows_.schema() != schema_version) {
            if (auto migrated = migrate(file_, database_); !migrated) return migrated;
        }
        if (auto followed = follow_schema(); !followed) return followed;
        if (auto summary = summary_.prepare_writing(); !summary) return summary;
        if (auto kept = keep_damaged_log(); !kept) return kept;
        if (auto opened = result_log_.open(missing_); !opened) return opened;
        if (auto set = prepare_log(); !set) return set;
        for (const auto& [statement, sql] :
             {std::pair{&insert_event_, "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)"},
              {&insert_step_, "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?)"},
              {&insert_mark_, "INSERT OR IGNORE INTO mark VALUES (?, ?, ?)"},
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

    /// Refuses to write after a failed read, since a new event would take the place of an unread one.
    Result<void> keep_damaged_log() {
        const fs::path log = database_.log_name();
        std::error_code error;
        if (missing_.empty() || !fs::exists(log, error)) return {};
        fs::copy_file(log, damaged_log(), fs::copy_options::overwrite_existing, error);
        if (error) return Error{damaged_log().string() + ": " + error.message()};
        database_.checkpoint_on_close(true);
        return {};
    }
    [[nodiscard]] fs::path damaged_log() const { return database_.log_name() + ".damaged"; }

    /// At this level SQLite synchronises the log before it copies pages from it to the file, and the file before it
    /// restarts the log. A commit is on the disk once this store has synchronised the log after it
    /// (https://www.sqlite.org/pragma.html#pragma_synchronous).
    Result<void> prepare_log() {
        const auto journal = database_.value("PRAGMA journal_mode = WAL");
        if (!journal) return journal.error();
        if (*journal != "wal") return Error{file_.string() + ": this file system has no write-ahead logging"};
        if (auto set = database_.run("PRAGMA synchronous = NORMAL"); !set) return set;
        checkpoints_.begin(file_, database_);
        if (synchronise_) return {};
        auto log = synchronise_log(database_.log_name());
        if (!log) return log.error();
        synchronise_ = *std::move(log);
        return {};
    }

    /// Writes all queued events, and those that `more` adds, as one transaction. If it fails, nothing is written and
    /// queued events stay queued.
    Result<void> write(const std::function<Result<void>()>& more = [] { return Result<void>{}; }) {
        const Doing writing("writes to the study's database");
        auto written = prepare();
        if (auto sound = sync_.reached(); written && !sound) written = sound.error();
        if (written) written = run(begin_);
        if (written) {
            written = insert_waiting();
            if (written) written = more();
            if (written) written = run(commit_);
            if (!written) (void)database_.run("ROLLBACK");  // SQLite may have done so itself
        }
        summary_.ended(written.ok());
        if (!written) return written;
        database_.worked();
        result_log_.add(ends_);
        const bool steps = std::ranges::any_of(waiting_, [](const Waiting& one) { return one.row.kind == kind_step; });
        waiting_.clear();
        marks_.clear();
        ends_.clear();
        if (steps) sync_.request_soon();  // a checkpoint that is written after its step may reach the disk by itself
        if (counts_.results > 0) sync_.request(counts_.results);
        return written;
    }

    Result<void> insert_waiting() {
        for (const auto& [sequence, time, row, sum] : waiting_) {
            const bool step = row.kind == kind_step;
            Statement& statement = step ? insert_step_ : insert_event_;
            int column = 0;
            statement.bind(++column, sequence);
            statement.bind(++column, time);
            if (!step) statement.bind(++column, std::int64_t{row.kind});
            statement.bind(++column, row.trial);
            statement.bind(++column, row.attempt);
            step ? statement.bind_bytes(++column, row.body) : statement.bind(++column, std::string_view(row.body));
            statement.bind(++column, std::int64_t{sum});
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

    [[nodiscard]] std::string kept(const std::string& key) const {
        const auto text = database_.value("SELECT value FROM study WHERE key = '" + key + "'");
        return text ? *text : std::string();
    }

    Result<void> put(std::string_view key, std::string_view value) {
        put_.bind(1, key);
        put_.bind(2, value);
        return run(put_);
    }

    /// Returns the state of a trial from a queued mark.
    [[nodiscard]] std::optional<double> value_of(std::int64_t trial) const {
        const auto mark =
            std::find_if(marks_.rbegin(), marks_.rend(), [&](const Mark& one) { return one.trial == trial; });
        return mark == marks_.rend() ? std::nullopt : mark->so_far.value;
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
        if (proposed && trial != counts_.trials + 1)
            return Error{"trial " + std::to_string(trial) + " proposed, but the next one is " +
                         std::to_string(counts_.trials + 1)};
        const bool of_study =
            std::holds_alternative<event::SessionStarted>(event) || std::holds_alternative<event::SessionEnded>(event);
        if (!proposed && !of_study && (trial < 1 || trial > counts_.trials))
            return Error{"an event of trial " + std::to_string(trial) + ", but there are " +
                         std::to_string(counts_.trials)};
        return {};
    }

    fs::path file_;
    std::shared_ptr<const fs::path> copy_;  ///< folder of the copy, removed with its last reader
    EventClock clock_;
    ResultLog result_log_{file_};  ///< outlives the connection
    mutable sqlite::Database database_;
    mutable StoredRows rows_{file_, database_};
    mutable SummaryTable summary_{database_};
    bool writes_;
    bool prepared_ = false;  ///< for writing
    bool ended_ = false;     ///< the last event is the session's end, after which nobody learns of a failing disk
    std::function<Result<void>()> synchronise_;
    LogCheckpoints checkpoints_;
    DiskSync sync_{[this] {
                       const std::string results = result_log_.take();
                       auto done = synchronise_();
                       if (done) result_log_.acknowledge(results);
                       return done;
                   },
                   [this] { checkpoints_.move_long_log(); }};
    std::string source_;
    std::vector<Waiting> waiting_;    ///< events queued for the next transaction
    std::vector<Mark> marks_;         ///< the same
    std::vector<StoredEnd> ends_;     ///< the same
    std::vector<StoredEnd> missing_;  ///< acknowledged results that the file lacks
    Counts counts_;
    Statement insert_event_, insert_step_, insert_mark_, put_, begin_, commit_;
};

}  // namespace

Result<StoredEvent> Store::proposal(std::int64_t trial) const {
    auto all = events(0, std::numeric_limits<std::int64_t>::max());
    if (!all) return all.error();
    for (StoredEvent& stored : *all)
        if (const auto* proposed = std::get_if<event::Proposed>(&stored.event); proposed && proposed->trial == trial)
            return std::move(stored);
    return Error{"there is no trial " + std::to_string(trial)};
}

Result<std::vector<StoredEvent>> Store::steps(std::int64_t trial) const {
    auto all = events(0, std::numeric_limits<std::int64_t>::max());
    if (all)
        std::erase_if(*all, [&](const StoredEvent& stored) {
            const auto* reported = std::get_if<event::Reported>(&stored.event);
            return !reported || reported->trial != trial;
        });
    return all;
}

Result<std::unique_ptr<Store>> make_sqlite_store(fs::path file, sqlite::Database database, bool writes,
                                                 std::function<Result<void>()> synchronise,
                                                 std::shared_ptr<const fs::path> copy) {
    return SqliteStore::make(std::move(file), std::move(database), writes, std::move(synchronise), std::move(copy));
}

}  // namespace hpo
