#include "orchestrator/slurm/study_watch.hpp"

#include <algorithm>
#include <chrono>

#include "hpo/standing.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::slurm {

namespace {

const StudyRecord nothing;

std::vector<std::int64_t> running_trials(const StudyRecord& record) {
    std::vector<std::int64_t> running;
    for (const TrialRecord& trial : record.trials)
        if (trial.state == TrialState::running) running.push_back(trial.number);
    return running;
}

}  // namespace

Progress progress_of(const StudyRecord& record) {
    Progress progress{count_ended(record), 0};
    for (const TrialRecord& trial : record.trials) progress.steps += trial.steps();
    return progress;
}

Progress progress_of(const StudyFolder& folder) {
    const auto snapshot = take_snapshot(folder, TrialParts::without_parameters);
    return snapshot ? progress_of(snapshot->record) : Progress{};
}

bool is_finished(const Study& study, const StudyRecord& record, const std::string& stored) {
    const auto ended = count_ended(record);
    if (ended >= study.budget.trials) return true;
    const bool all_ended = ended > 0 && ended == static_cast<std::int64_t>(record.trials.size());
    return all_ended && !record.held && record.end == SessionEnd::finished && stored == study.source;
}

bool StudyWatch::read() {
    if (!snapshot_) {
        std::error_code ignored;
        if (std::filesystem::exists(folder_.database(), ignored))
            if (auto taken = take_snapshot(folder_)) snapshot_ = std::move(*taken);
    } else if (!snapshot_->refresh()) {
        return false;
    }
    if (!begun_) {
        begun_ = true;
        observer_.begun(view());
        if (snapshot_)
            for (const TrialRecord& trial : snapshot_->record.trials) known_.push_back({trial.state, trial.attempt});
    }
    if (!snapshot_) return false;
    tell_changes();
    const std::int64_t holder = snapshot_->holder ? snapshot_->holder->pid : 0;
    was_held_ = was_held_ || holder != 0;
    return std::exchange(holder_, holder) != holder;
}

void StudyWatch::tell_changes() {
    const StudyRecord& record = snapshot_->record;
    const auto tell = [&](Event event) {
        const std::string lines = observer_.happened(record, {record.sequence, record.last_time, std::move(event), {}});
        if (!lines.empty()) observer_.print(lines);
    };
    for (const TrialRecord& trial : record.trials) {
        const auto index = static_cast<std::size_t>(trial.number) - 1;
        if (known_.size() <= index) known_.resize(index + 1);
        const Known before = std::exchange(known_[index], {trial.state, trial.attempt});
        if (before.attempt != trial.attempt)
            tell(event::Launched{trial.number, trial.attempt, trial.where, *trial.allocation});
        if (before.state == trial.state) continue;
        if (is_final(trial.state))
            tell(event::Finished{trial.number, trial.attempt, trial.state, trial.rule, trial.reason});
        else if (trial.state == TrialState::paused)
            tell(event::Paused{trial.number, trial.attempt, trial.rule, trial.reason});
        else if (trial.state == TrialState::queued && snapshot_->holder)
            tell(event::Requeued{trial.number, trial.attempt, trial.requeued.value_or(Outcome::lost), false,
                                 trial.reason});
    }
}

SessionView StudyWatch::view() const {
    if (!snapshot_) return {nothing, 0, 1, {}, {}};
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto moment = view::moment_of(snapshot_->record, now, snapshot_->holder.has_value());
    return {snapshot_->record, moment.seconds, moment.parallel, running_trials(snapshot_->record), {}};
}

void StudyWatch::draw() {
    const bool runs = snapshot_ && snapshot_->holder;
    (void)observer_.draw(runs ? observer_.picture(view()) : std::string());
}

void StudyWatch::submitted() {
    const auto note = [&](const StudyRecord& record) {
        at_submission_ = progress_of(record);
        sequence_at_submission_ = record.sequence;
    };
    if (snapshot_)
        note(snapshot_->record);
    else if (const auto stored = take_snapshot(folder_, TrialParts::without_parameters))
        note(stored->record);
}

bool StudyWatch::progressed() const { return snapshot_ && progress_of(snapshot_->record) > at_submission_; }

bool StudyWatch::finished() const {
    if (!snapshot_) return false;
    const StudyRecord& record = snapshot_->record;
    if (record.held || record.sequence == sequence_at_submission_) return is_finished(study_, record, {});
    const auto store = open_store_read_only(folder_.database());  // an open one keeps the study file of that time
    return is_finished(study_, record, store ? (*store)->source() : std::string());
}

bool StudyWatch::at_limit() const {
    return snapshot_ && !snapshot_->record.held && snapshot_->record.end == SessionEnd::at_limit;
}

Result<RunOutcome> StudyWatch::outcome() {
    auto last = take_snapshot(folder_);
    if (!last) return last.error();
    RunOutcome outcome;
    const SessionEnd end = last->record.end;
    outcome.end = is_finished(study_, last->record, last->store->source()) ? SessionEnd::finished
                  : end == SessionEnd::out_of_time                         ? end
                                                                           : SessionEnd::interrupted;
    outcome.reason = last->record.end_reason;
    outcome.seconds = view::moment_of(last->record, last->record.last_time, false).seconds;
    outcome.record = std::move(last->record);
    outcome.store = std::move(last->store);
    return outcome;
}

}  // namespace hpo::slurm
