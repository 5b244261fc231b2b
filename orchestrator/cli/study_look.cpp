#include "orchestrator/cli/study_look.hpp"

#include "orchestrator/study/study_file.hpp"

namespace hpo {

Result<void> StudyLook::refresh() {
    constexpr std::size_t at_once = 4096;
    if (curves == Curves::thinned)
        if (auto read = store->read_summary(record); !read) return read;
    for (;;) {
        const auto events = store->events(record.sequence, at_once);
        if (!events) return events.error();
        try {
            for (const StoredEvent& event : *events) {
                // An attempt that goes back: its value is that of the steps before.
                if (const auto* step = std::get_if<event::Reported>(&event.event);
                    step && record.trial(step->trial).thinned && step->report.step <= record.trial(step->trial).steps())
                    if (auto read = read_steps(step->trial); !read) return read;
                apply(record, event, study.objective);
            }
        } catch (const std::out_of_range&) {
            return Error{folder.database().string() + ": an event of a trial that does not exist"};
        }
        if (events->size() < at_once) break;
    }
    // Asked after reading: whoever starts it now has no running trials among these events.
    holder = holder_of(folder);
    if (!holder)
        for (TrialRecord& trial : record.trials)
            if (trial.state == TrialState::running) trial.state = TrialState::queued, trial.where.clear();
    return {};
}

Result<void> StudyLook::read_steps(std::int64_t number) {
    TrialRecord& trial = record.trial(number);
    if (!trial.thinned) return {};
    const auto steps = store->steps(number);
    if (!steps) return steps.error();
    trial.curve.clear();
    for (const StoredEvent& stored : *steps) {
        if (stored.sequence > record.sequence) break;
        const Report& report = std::get<event::Reported>(stored.event).report;
        while (trial.steps() >= report.step && !trial.curve.empty()) trial.curve.pop_back();
        trial.curve.push_back(report);
    }
    trial.thinned = false;
    trial.losses.clear();
    return {};
}

const TrialRecord& StudyLook::trial(std::int64_t number) const {
    const auto count = static_cast<std::int64_t>(record.trials.size());
    if (number >= 1 && number <= count) return record.trial(number);
    throw Fatal("study " + folder.name() + " has no trial " + std::to_string(number) +
                (count == 0 ? ": it has none yet" : ": there are 1 to " + std::to_string(count)));
}

Result<StudyLook> look_at(const StudyFolder& folder, Curves curves) {
    StudyLook look;
    look.curves = curves;
    look.record.thins = curves == Curves::thinned;
    look.folder = folder;
    auto store = open_store_read_only(folder.database());
    if (!store) return store.error();
    look.store = std::move(*store);
    if (look.store->source().empty()) return Error{"study " + folder.name() + " has not been started yet"};
    auto study = parse_study(look.store->source(), folder.yaml().string());
    if (!study) return Error{"the stored study cannot be read:\n" + study.error().message};
    look.study = std::move(*study);
    if (auto read = look.refresh(); !read) return read.error();
    return look;
}

StudyLook look_or_fail(const StudyFolder& folder, Curves curves) {
    auto look = look_at(folder, curves);
    if (!look) throw Fatal(look.error().message);
    return std::move(*look);
}

view::TrialFiles files_of(const StudyFolder& folder, std::int64_t trial) {
    const auto there = [](const std::filesystem::path& path) {
        std::error_code ignored;
        return std::filesystem::exists(path, ignored) ? path.string() : std::string();
    };
    return {there(folder.trial_log(trial)), there(folder.checkpoints(trial))};
}

}  // namespace hpo
