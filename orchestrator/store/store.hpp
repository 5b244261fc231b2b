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

/// A step that has to be read again when the study goes on, though its trial has ended: others are judged by it, or it
/// is the trial's best or last one.
struct Mark {
    std::int64_t sequence = 0;  ///< of the step
    SoFar so_far;
    std::int64_t trial = 0;  ///< that it ends with, or pauses; 0: neither
};

/// One holder's connection. Not thread-safe. Every append is one transaction, which survives a kill of the process at
/// once. A *result* (Finished, SessionEnded) is brought to the disk by a thread of the store, with all before it:
/// nobody is shown it before that. The first thing that is written brings a study of an older schema to this
/// one, after a copy was made beside it (study.db.schema-1): until then it is as it was.
///
/// A study may have millions of steps. What is kept besides the events so that nobody has to read all of them can be
/// made from the events again: a summary of each trial for viewers, and marks for the next session.
class Store {
   public:
    virtual ~Store() = default;

    /// The study's YAML text as it was last accepted; empty for a new study. It is on the disk when set_source()
    /// returns, with all before it.
    [[nodiscard]] virtual std::string source() const = 0;
    virtual Result<void> set_source(const std::string& yaml) = 0;

    /// The trials of other studies that this one learns from (sampling/prior_study.hpp), as text; empty: none.
    [[nodiscard]] virtual std::string warm_start() const { return {}; }
    virtual Result<void> set_warm_start(const std::string& text) {
        (void)text;
        return {};
    }

    /// The data that trials have trained on (engine/seen_data.hpp), as text; empty: none is known.
    [[nodiscard]] virtual std::string seen_data() const { return {}; }
    virtual Result<void> set_seen_data(const std::string& text) {
        (void)text;
        return {};
    }

    /// Whether this is a copy, which shows nothing that happens later: who wants to see that opens the store again.
    [[nodiscard]] virtual bool stands_still() const { return false; }

    /// The results that were acknowledged and that the file no longer holds, as a sentence for users without its end;
    /// empty: there are none. The first thing that is written forgets them.
    [[nodiscard]] virtual std::string missing_results() const { return {}; }

    /// Events with a sequence above `after`, in order, `limit` at most.
    virtual Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const = 0;

    /// Appends and returns the stored event (its sequence and time). A full disk, an I/O error: an Error, nothing
    /// stored.
    virtual Result<StoredEvent> append(const Event& event) = 0;

    /// As append, but it waits in memory for the next that is written, or for flush: thousands of steps a second share
    /// one transaction. Others do not see it before, and a kill loses it. Where that writing fails it goes on waiting.
    virtual Result<StoredEvent> add(const Event& event) { return append(event); }
    virtual Result<void> flush() { return {}; }

    /// How many results this session has stored or added, and how many of them a loss of power cannot take. An Error:
    /// the disk has failed, and nothing is stored any more.
    [[nodiscard]] virtual std::int64_t results() const { return 0; }
    [[nodiscard]] virtual Result<std::int64_t> results_on_disk() const { return results(); }
    /// `listener` is called in another thread when the latter has grown, or is an Error. It must not use the store.
    /// Empty: nobody; what was set before is not called any more when this returns.
    virtual void when_on_disk(std::function<void()> listener) { (void)listener; }
    /// Flushes, and waits until all results are on the disk.
    virtual Result<void> settle() { return flush(); }

    /// Keeps these trials, and the study's totals, as they are in `record`; with what waits.
    virtual Result<void> summarize(const StudyRecord& record, std::span<const std::int64_t> trials) {
        (void)record, (void)trials;
        return {};
    }
    /// The last event in the last summary; 0: there is none.
    [[nodiscard]] virtual std::int64_t summarized() const { return 0; }
    /// Brings `record` to the last summary if that is newer; its trials are thinned then. Events go on from
    /// record.sequence.
    virtual Result<void> read_summary(StudyRecord& record) const {
        (void)record;
        return {};
    }
    /// The event that proposed the trial, with its parameters.
    virtual Result<StoredEvent> proposal(std::int64_t trial) const;
    /// The steps of one trial: its curve is their fold.
    virtual Result<std::vector<StoredEvent>> steps(std::int64_t trial) const;

    /// Stores what devices did, with what waits.
    virtual Result<void> add_telemetry(std::span<const TelemetryRow> rows) {
        (void)rows;
        return {};
    }
    /// Returns all that was stored, in this order.
    [[nodiscard]] virtual Result<std::vector<TelemetryRow>> telemetry() const { return std::vector<TelemetryRow>{}; }

    /// Waits as `add`. A step that is marked already keeps its mark.
    virtual Result<void> mark(const Mark& mark) {
        (void)mark;
        return {};
    }
    /// What all marks were made for, as `remark` was given it; empty: not all that are needed are there.
    [[nodiscard]] virtual std::string marked_for() const { return {}; }
    /// These marks, for this purpose, instead of those before.
    virtual Result<void> remark(const std::string& purpose, std::span<const Mark> marks) {
        (void)purpose, (void)marks;
        return {};
    }
    /// As events, without the steps of ended trials that are not marked; steps that are marked have their so_far.
    virtual Result<std::vector<StoredEvent>> events_to_resume(std::int64_t after, std::size_t limit) const {
        return events(after, limit);
    }
};

/// Creates the file if it is missing. Refused with the reason: corrupt or truncated (nothing is overwritten), a newer
/// schema, read-only, another program's database, a network file system's missing locks.
///
/// From then on a lock that another program holds is waited for as long as it takes, or until a signal asks for the end
/// (hpo/interrupted.hpp); `warn` is called once when that lasts, and at once where results are missing. Within such a
/// wait it must not use the store.
///
/// `synchronise` is a seam for tests, in place of what brings the log to the disk (disk_sync.hpp).
Result<std::unique_ptr<Store>> open_store(const std::filesystem::path& file,
                                          std::function<void(const std::string&)> warn = {},
                                          std::function<Result<void>()> synchronise = {});

/// For viewers: read-only, never checkpoints, never blocks the writer, reads all schemas. What changes something fails.
/// Another user's study that runs is copied, since only its owner may lock it.
Result<std::unique_ptr<Store>> open_store_read_only(const std::filesystem::path& file);

}  // namespace hpo
