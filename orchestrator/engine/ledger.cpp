#include "orchestrator/engine/ledger.hpp"

#include <algorithm>
#include <cmath>

#include "orchestrator/engine/judgeable.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::size_t replay_batch = 10'000;

}  // namespace

Ledger::Ledger(const Study& study, Store& store, Proposer proposer, Rules rules)
    : study_(study),
      store_(store),
      proposer_(std::move(proposer)),
      rules_(std::move(rules)),
      marks_(study, store),
      restarts_(study),
      race_(study.repeats),
      tries_(study.objective) {
    record_.thins = true;
}

/// Reads all steps of ended trials only once; afterwards the marked ones suffice.
Result<void> Ledger::replay() {
    const bool marked = marks_.up_to_date();
    const std::int64_t summarized = marked ? store_.summarized() : 0;
    marks_.begin_replay();
    for (bool more = true; more;) {
        auto batch = marked ? store_.events_to_resume(record_.sequence, replay_batch)
                            : store_.events(record_.sequence, replay_batch);
        if (!batch) return batch.error();
        for (const StoredEvent& stored : *batch) {
            try {
                marks_.mark_end(stored.event, record_);
                apply(record_, stored, study_.objective);
                if (stored.sequence > summarized) changed(stored.event);  // a killed session may not have summarized it
                learn(stored);
            } catch (const std::exception& contradiction) {
                return Error{"event " + std::to_string(stored.sequence) +
                             " of the study contradicts those before it (" + contradiction.what() + ")"};
            }
        }
        more = batch->size() == replay_batch;
    }
    marks_.end_replay();
    for (const std::int64_t trial : unfinished_)
        if (const TrialRecord& record = record_.trial(trial);
            record.state == TrialState::paused && !is_stopping(record) && !rules_.holds(trial))
            unheld_.push_back(trial);
    return {};
}

StoredEvent Ledger::store(const Event& event, bool waits) {
    if (failure_) throw StoreFailed(*failure_);
    auto added = waits ? store_.add(event) : store_.append(event);
    if (!added) throw StoreFailed(added.error().message);
    if (!waits) steps_wait_ = false;
    changed(event);
    apply(record_, *added, study_.objective);
    return *std::move(added);
}

/// Takes in the outcome of a write: all entries are stored, or they wait for the next write and must not be acted on.
void Ledger::stored(const Result<void>& outcome) {
    const bool entries = std::exchange(commit_due_, false);
    if (entries && !outcome) failure_ = outcome.error().message;
    if (!outcome) throw StoreFailed(outcome.error().message);
    steps_wait_ = false;
}

StudyRecord Ledger::stored_record() && { return failure_ ? std::as_const(*this).stored_record() : std::move(record_); }

StudyRecord Ledger::stored_record() const& {
    if (!failure_) return record_;
    StudyRecord record;
    record.thins = true;
    if (!store_.read_summary(record)) return record_;
    for (bool more = true; more;) {
        const auto batch = store_.events(record.sequence, replay_batch);
        if (!batch) return record_;
        for (const StoredEvent& stored : *batch) apply(record, stored, study_.objective);
        more = batch->size() == replay_batch;
    }
    return record;
}

/// Includes the subject of the event in the next summary.
void Ledger::changed(const Event& event) {
    std::visit(
        [&](const auto& e) {
            if constexpr (requires { e.trial; })
                changed_.insert(e.trial);
            else
                changed_.insert(0);
        },
        event);
    if (const auto* finished =
            std::get_if<event::Finished>(&event))  // its value may count in the mean of its configuration
        if (const std::int64_t first = record_.trial(finished->trial).repeat_of; first != 0) changed_.insert(first);
    if (std::holds_alternative<event::SessionStarted>(event))  // trials that an earlier session left running
        for (const std::int64_t trial : unfinished_) changed_.insert(trial);
}

void Ledger::commit() {
    if (commit_due_) flush();
}

void Ledger::flush() {
    if (steps_wait_ || commit_due_) stored(store_.flush());
}

std::int64_t Ledger::results_on_disk() const {
    const auto count = store_.results_on_disk();
    if (!count) throw StoreFailed(count.error().message);
    return *count;
}

void Ledger::settle() { stored(store_.settle()); }

/// A failed summary is made up for by the next one.
void Ledger::summarize() {
    if (changed_.empty() || failure_) return flush();
    std::vector<std::int64_t> trials(changed_.begin(), changed_.end());
    std::erase(trials, 0);
    std::sort(trials.begin(), trials.end());  // rows that are added in order fill the pages of the database
    stored(store_.summarize(record_, trials));
    changed_.clear();
}

void Ledger::add_telemetry(std::span<const TelemetryRow> rows) {
    if (!rows.empty() && !failure_) stored(store_.add_telemetry(rows));
}

void Ledger::enter(const Event& event) {
    marks_.mark_end(event, record_);
    commit_due_ = commit_due_ || waits_for_commits_;
    const StoredEvent entered = store(event, waits_for_commits_);
    tell(entered);
    learn(entered);
    if (forgets_ended_) forget_if_ended(event);
}

void Ledger::forget_if_ended(const Event& event) {
    const auto* finished = std::get_if<event::Finished>(&event);
    // A trial of several objectives or with constraints is ranked by its steps, and a configuration may be repeated.
    if (!finished || !study_.objective.simple() || study_.repeats > 1) return;
    TrialRecord& trial = record_.trial(finished->trial);
    // `= {}` would keep the memory of the vectors.
    trial.curve = std::vector<Report>();
    trial.point = Point();
    trial.params = Params();
    changed_.erase(trial.number);
}

void Ledger::tell(const StoredEvent& stored) const {
    if (on_event) on_event(stored);
}

void Ledger::set_queued(std::int64_t trial, bool queued) {
    if (queued)
        queued_.insert(trial);
    else
        queued_.erase(trial);
    if (on_queue_change) on_queue_change(trial, queued);
}

void Ledger::learn(const StoredEvent& stored) {
    std::visit(Overloaded{
                   [&](const event::SessionStarted&) {
                       for (const std::int64_t trial : unfinished_)
                           if (record_.trial(trial).state == TrialState::queued) set_queued(trial, true);
                   },
                   [&](const event::Proposed& e) {
                       unfinished_.insert(e.trial);
                       set_queued(e.trial, true);
                       e.repeat_of != 0 ? race_.begun(e.repeat_of) : proposer_.proposed(record_.trial(e.trial));
                   },
                   [&](const event::Launched& e) { set_queued(e.trial, false); },
                   // Judging again rebuilds the rules' own state. Their verdicts are in later events.
                   [&](const event::Reported& e) {
                       marks_.took(stored, e);
                       restarts_.reported(record_.trial(e.trial));
                       const bool judged =
                           divergence(e.report, study_.objective).empty() && e.report.step < study_.budget.epochs;
                       if (judged) (void)judged_by_rules(e.trial);
                   },
                   [&](const event::Paused& e) {
                       set_queued(e.trial, false);
                       if (is_stopping(record_.trial(e.trial))) return;  // its end teaches
                       proposer_.elapsed(record_.elapsed());
                       teach(record_.trial(e.trial));
                       tries_.tried(record_.trial(e.trial), counts_tries());
                   },
                   [&](const event::Spared& e) { rules_.promoted(e.trial); },
                   [&](const event::Requeued& e) {
                       set_queued(e.trial, true);
                       if (e.outcome == Outcome::paused) rules_.promoted(e.trial);
                   },
                   [&](const event::Finished& e) {
                       const TrialRecord& trial = record_.trial(e.trial);
                       set_queued(e.trial, false);
                       if (unfinished_.erase(e.trial) == 0) return;  // an amended reason of a trial that had ended
                       marks_.ended(e.trial);
                       rules_.ended(trial);
                       restarts_.ended(trial);
                       proposer_.elapsed(record_.elapsed());
                       seed_ended(trial);
                       if (trial.repeat_of != 0) return;
                       trial.state == TrialState::stopped ? teach(trial) : proposer_.tell(trial);
                       tries_.tried(trial, counts_tries());
                   },
                   [](const auto&) {},
               },
               stored.event);
}

/// Teaches the sampler the value of a trial that has paused or ended: a rule's prediction of its end, else its present
/// value.
void Ledger::teach(const TrialRecord& trial) {
    const auto forecast = rules_.forecast(trial.number);
    if (!forecast) return proposer_.tell(trial);
    if (!forecast->tells) return proposer_.withhold(trial.number);
    proposer_.tell(trial, forecast->value, forecast->deviation, forecast->repeats);
}

/// Teaches the sampler changed forecasts of a few dozen paused trials in turn, so that a report costs the same in a
/// study of thousands.
void Ledger::teach_paused() {
    constexpr int most = 64;
    forecasts_ = rules_.forecasts_made();
    auto next = unfinished_.upper_bound(taught_upto_);
    int taught = 0;
    for (std::size_t seen = 0; seen < unfinished_.size() && taught < most; ++seen, ++next) {
        if (next == unfinished_.end()) next = unfinished_.begin();
        const TrialRecord& other = record_.trial(*next);
        if (other.state != TrialState::paused || is_stopping(other)) continue;
        teach(other);
        taught_upto_ = *next;
        ++taught;
    }
}

std::optional<double> Ledger::predicted_end(std::int64_t number) const {
    const TrialRecord& trial = record_.trial(number);
    const auto forecast = rules_.forecast(number);
    if (!forecast || !forecast->tells || !std::isfinite(forecast->value)) return std::nullopt;
    // A trial whose best step counts ends at its best value so far, or better.
    const bool reached = study_.objective.at == Objective::At::best && trial.value &&
                         better(study_.objective.direction, *trial.value, forecast->value);
    return reached ? *trial.value : forecast->value;
}

/// Teaches the sampler and the race a configuration by its first trial, whose value is the mean over the seeds. A trial
/// that was stopped because of others has no further seeds, since trainings of different lengths have no meaningful
/// mean.
void Ledger::seed_ended(const TrialRecord& trial) {
    if (study_.repeats == 1 && trial.repeat_of == 0) return;
    const TrialRecord& first = trial.repeat_of != 0 ? record_.trial(trial.repeat_of) : trial;
    if (trial.repeat_of != 0) race_.ended(first.number);
    if (!counts_as_seed(trial)) return;
    if (trial.repeat_of == 0 && trial.state == TrialState::stopped && !judges_alone(trial.rule)) return;
    std::vector<double> losses = first.seeds.empty() ? std::vector{*first.value} : first.seeds;
    if (study_.objective.direction == Direction::maximize)
        for (double& value : losses) value = -value;
    race_.update(first.number, losses, may_be_best(first, study_.objective));
    if (trial.repeat_of == 0) return;
    proposer_.tell(first);
    tries_.revalued(first);
}

const TrialRecord* Ledger::best() const { return best_trial(record_, study_.objective); }

void Ledger::session_started(event::SessionStarted session) {
    enter(std::move(session));
    marks_.replayed() ? stored(marks_.store_replayed()) : flush();
    end_stopping();  // trials that a killed session was stopping
}

void Ledger::session_ended(event::SessionEnded session) {
    enter(std::move(session));
    summarize();
    settle();
}

}  // namespace hpo
