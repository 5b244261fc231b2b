#include "orchestrator/lookup/study_snapshot.hpp"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "hpo/printable.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

Result<void> StudySnapshot::refresh() {
    if (store->stands_still())
        if (auto again = open_store_read_only(folder.database())) store = std::move(*again);
    if (auto read = store->read_summary(record); !read) return read;
    // The holder is read after the events. A process that takes the study only now has no running trials among them. A
    // process that held it before has ended in between: its last events may have been missed.
    bool held_before = false;
    do {
        held_before = holder_of(folder).has_value();
        if (auto read = read_events(); !read) return read;
        holder = holder_of(folder);
    } while (held_before && !holder);
    if (!holder)
        for (TrialRecord& trial : record.trials)
            if (trial.state == TrialState::running) trial.state = TrialState::queued, trial.where.clear();
    for (const TrialRecord& trial : record.trials)  // their speed in samples depends on a parameter
        if (trial.state == TrialState::running)
            if (auto read = read_parameters(trial.number); !read) return read;
    return {};
}

Result<void> StudySnapshot::read_events() {
    constexpr std::size_t batch = 4096;
    for (;;) {
        const auto events = store->events(record.sequence, batch);
        if (!events) return events.error();
        try {
            for (const StoredEvent& event : *events) {
                if (const auto* step = std::get_if<event::Reported>(&event.event))
                    if (auto read = read_steps_before(*step); !read) return read;
                apply(record, event, study.objective);
            }
        } catch (const std::out_of_range&) {
            return Error{folder.database().string() + ": an event of a trial that does not exist"};
        }
        if (events->size() < batch) return {};
    }
}

/// Reads the earlier steps of a trial that reports a step again: the steps after it are dropped, and the trial's value
/// must be computed from the rest. Without a curve, any step may be one of these.
Result<void> StudySnapshot::read_steps_before(const event::Reported& step) {
    const TrialRecord& trial = record.trial(step.trial);
    const bool lacks_curve = record.parts == TrialParts::standing && trial.curve.empty() && trial.trained > 0;
    if (!trial.thinned || (step.report.step > trial.steps() && !lacks_curve)) return {};
    return read_steps(step.trial);
}

Result<void> StudySnapshot::read_parameters(std::int64_t number) {
    TrialRecord& trial = record.trial(number);
    const bool lacks_parameters =
        record.parts == TrialParts::without_parameters || record.parts == TrialParts::standing;
    if (!lacks_parameters || !trial.params.empty()) return {};
    auto proposal = store->proposal(number);
    if (!proposal) return proposal.error();
    auto& proposed = std::get<event::Proposed>(proposal->event);
    trial.point = std::move(proposed.point);
    trial.params = std::move(proposed.params);
    return {};
}

Result<void> StudySnapshot::read_steps(std::int64_t number) {
    TrialRecord& trial = record.trial(number);
    if (!trial.thinned) return {};
    auto read = whole(trial);
    if (!read) return read.error();
    trial = *std::move(read);
    return {};
}

Result<TrialRecord> StudySnapshot::whole(TrialRecord trial) const {
    if (!trial.thinned) return trial;
    const auto steps = store->steps(trial.number);
    if (!steps) return steps.error();
    trial.curve.clear();
    for (const StoredEvent& stored : *steps) {
        if (stored.sequence > record.sequence) break;
        const Report& report = std::get<event::Reported>(stored.event).report;
        while (trial.steps() >= report.step && !trial.curve.empty()) trial.curve.pop_back();
        trial.curve.push_back(report);
    }
    trial.thinned = false;
    return trial;
}

const TrialRecord& StudySnapshot::trial(std::int64_t number) const {
    const auto count = static_cast<std::int64_t>(record.trials.size());
    if (number >= 1 && number <= count) return record.trial(number);
    throw Fatal("study " + folder.name() + " has no trial " + std::to_string(number) +
                (count == 0 ? ": it has none yet" : ": there are 1 to " + std::to_string(count)));
}

Result<StudySnapshot> take_snapshot(const StudyFolder& folder, TrialParts parts) {
    StudySnapshot snapshot;
    snapshot.record.thins = true;
    snapshot.folder = folder;
    auto store = open_store_read_only(folder.database());
    if (!store) return store.error();
    snapshot.store = std::move(*store);
    if (snapshot.store->source().empty()) return Error{"study " + folder.name() + " has not been started yet"};
    auto study = parse_stored_study(snapshot.store->source(), folder.yaml().string());
    if (!study) return Error{"the stored study cannot be read:\n" + study.error().message};
    snapshot.study = std::move(*study);
    const bool ranked_by_metrics = parts == TrialParts::standing && !snapshot.study.objective.simple();
    snapshot.record.parts = ranked_by_metrics ? TrialParts::without_parameters : parts;
    if (auto read = snapshot.refresh(); !read) return read.error();
    return snapshot;
}

void warn_of_missing_results(const StudySnapshot& snapshot) {
    static std::mutex mutex;            // hpo serve has several threads
    static std::set<std::string> told;  // a command may read a study twice
    const std::string missing = snapshot.store->missing_results();
    const std::lock_guard lock(mutex);
    if (!missing.empty() && told.insert(missing).second)
        std::fprintf(stderr, "hpo: warning: %s. hpo run repeats these trials\n", printable(missing).c_str());
}

StudySnapshot snapshot_or_fail(const StudyFolder& folder, TrialParts parts) {
    auto snapshot = take_snapshot(folder, parts);
    if (!snapshot) throw Fatal(snapshot.error().message);
    warn_of_missing_results(*snapshot);
    return std::move(*snapshot);
}

}  // namespace hpo
