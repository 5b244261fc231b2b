// A study on disk: one SQLite file, WAL, one writing connection, short read-only readers. Only this folder knows
// SQLite.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "hpo/telemetry_row.hpp"

namespace hpo {

/// A step of an ended trial that must be read when the study resumes: other trials are judged by it, or it is the
/// trial's best or last one.
struct Mark {
    std::int64_t sequence = 0;  ///< of the step
    SoFar so_far;
    std::int64_t trial = 0;  ///< trial that ends or pauses with it; 0: neither
};

/// The connection of a study's holder. Not thread-safe. Every append is one transaction, which survives a kill of the
/// process. A *result* (Finished, SessionEnded) must not be shown before it is on the disk; a thread of the store takes
/// it there with all earlier events. The first write migrates a study of an older schema, after copying it to
/// study.db.schema-1.
///
/// A study may have millions of steps. Summaries of trials spare viewers from reading them all, and marks spare the
/// next session. Both can be rebuilt from the events.
class Store {
   public:
    virtual ~Store() = default;

    /// Returns the study's YAML text as last accepted; empty for a new study. set_source() returns when it is on the
    /// disk, with all earlier events.
    [[nodiscard]] virtual std::string source() const = 0;
    virtual Result<void> set_source(const std::string& yaml) = 0;

    /// Returns the trials of other studies that this one learns from (sampling/prior_study.hpp), as text; empty: none.
    [[nodiscard]] virtual std::string warm_start() const { return {}; }
    virtual Result<void> set_warm_start(const std::string& text) {
        (void)text;
        return {};
    }

    /// Returns the fingerprints of the trials' data (engine/seen_data.hpp), as text; empty: none.
    [[nodiscard]] virtual std::string seen_data() const { return {}; }
    virtual Result<void> set_seen_data(const std::string& text) {
        (void)text;
        return {};
    }

    /// Returns the fingerprints of the script's files at the last session (engine/code_state.hpp), as text; empty:
    /// none.
    [[nodiscard]] virtual std::string scripts() const { return {}; }
    virtual Result<void> set_scripts(const std::string& text) {
        (void)text;
        return {};
    }

    /// Returns true for a copy, which shows no later events until the store is opened again.
    [[nodiscard]] virtual bool stands_still() const { return false; }

    /// Returns the acknowledged results that the file has lost, as a sentence for users without its end; empty: none.
    /// The first write forgets them.
    [[nodiscard]] virtual std::string missing_results() const { return {}; }

    /// Returns at most `limit` events with a sequence above `after`, in order.
    virtual Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const = 0;

    /// Appends an event and returns it with its sequence and time. Stores nothing if it fails (a full disk, an I/O
    /// error).
    virtual Result<StoredEvent> append(const Event& event) = 0;

    /// Queues an event in memory until the next write or flush(), so that thousands of steps per second share a
    /// transaction. Other processes do not see it before, and a kill loses it. It stays queued if that write fails.
    virtual Result<StoredEvent> add(const Event& event) { return append(event); }
    virtual Result<void> flush() { return {}; }

    /// Return the number of results that this session has stored or added, and the number of these that survive a loss
    /// of power. The latter fails if the disk has failed; nothing is stored any more then.
    [[nodiscard]] virtual std::int64_t results() const { return 0; }
    [[nodiscard]] virtual Result<std::int64_t> results_on_disk() const { return results(); }
    /// Calls `listener` on another thread whenever results_on_disk() has grown or fails. The listener must not use the
    /// store. The previous listener is not called after this returns. Empty: no calls.
    virtual void when_on_disk(std::function<void()> listener) { (void)listener; }
    /// Flushes, and waits until all results are on the disk; after the session's end, until all events are.
    virtual Result<void> settle() { return flush(); }

    /// Stores summaries of these trials and the study's totals from `record`, together with queued events.
    virtual Result<void> summarize(const StudyRecord& record, std::span<const std::int64_t> trials) {
        (void)record, (void)trials;
        return {};
    }
    /// Returns the sequence of the last event in the last summary; 0: no summary.
    [[nodiscard]] virtual std::int64_t summarized() const { return 0; }
    /// Replaces `record` by the last summary if that is newer; its trials are then thinned. Later events follow
    /// record.sequence.
    virtual Result<void> read_summary(StudyRecord& record) const {
        (void)record;
        return {};
    }
    /// Returns the event that proposed the trial, with its parameters.
    virtual Result<StoredEvent> proposal(std::int64_t trial) const;
    /// Returns the steps of a trial, which make its curve.
    virtual Result<std::vector<StoredEvent>> steps(std::int64_t trial) const;

    /// Stores telemetry of devices, together with queued events.
    virtual Result<void> add_telemetry(std::span<const TelemetryRow> rows) {
        (void)rows;
        return {};
    }
    /// Returns all stored telemetry, in the order of its storage.
    [[nodiscard]] virtual Result<std::vector<TelemetryRow>> telemetry() const { return std::vector<TelemetryRow>{}; }

    /// Queues a mark as add() does. A marked step keeps its first mark.
    virtual Result<void> mark(const Mark& mark) {
        (void)mark;
        return {};
    }
    /// Returns the purpose of the marks as given to remark(); empty if they are incomplete.
    [[nodiscard]] virtual std::string marked_for() const { return {}; }
    /// Replaces all marks by these, which serve `purpose`.
    virtual Result<void> remark(const std::string& purpose, std::span<const Mark> marks) {
        (void)purpose, (void)marks;
        return {};
    }
    /// Returns events as events() does, without unmarked steps of ended trials. Marked steps have their `so_far`.
    virtual Result<std::vector<StoredEvent>> events_to_resume(std::int64_t after, std::size_t limit) const {
        return events(after, limit);
    }
};

/// Opens the database for its holder, and creates it if it is missing. Fails without a change for a corrupt or
/// truncated file, a newer schema, a read-only file, another program's database, and a network file system without
/// locks.
///
/// The store waits for locks of other programs without limit, or until a signal interrupts it (hpo/interrupted.hpp).
/// `warn` is called once if that wait lasts, and at once if results are missing. During a wait it must not use the
/// store.
///
/// `synchronise` replaces the synchronisation with the disk (disk_sync.hpp) in tests.
Result<std::unique_ptr<Store>> open_store(const std::filesystem::path& file,
                                          std::function<void(const std::string&)> warn = {},
                                          std::function<Result<void>()> synchronise = {});

/// Opens the database for viewers: read-only, of any schema, without checkpoints or locks that block the writer. All
/// calls that change it fail. A running study of another user is copied, since only its owner may lock it.
Result<std::unique_ptr<Store>> open_store_read_only(const std::filesystem::path& file);

}  // namespace hpo
