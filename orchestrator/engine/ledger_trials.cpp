// The part of the ledger that enters what happens to a trial: it is proposed, launched, reports, is judged, and ends.
#include <algorithm>

#include "orchestrator/engine/judgeable.hpp"
#include "orchestrator/engine/ledger.hpp"

namespace hpo {

std::optional<std::int64_t> Ledger::propose(const std::function<void()>& ready) {
    const auto number = static_cast<std::int64_t>(record_.trials.size()) + 1;
    const std::int64_t configuration = configurations() + 1;  // samplers count configurations, not seeds
    const bool in_background = ready && !proposer_.quick();
    if (in_background) {
        if (proposer_.outdated()) proposer_.drop();
        if (proposer_.computing() == 0) proposer_.start(configuration, ready);
        if (!proposer_.ready()) return 0;
    }
    auto proposal = in_background ? proposer_.take() : proposer_.propose(configuration);
    exhausted_ = !proposal;
    if (exhausted_) return std::nullopt;
    enter(event::Proposed{number, std::move(proposal->point), std::move(proposal->params)});
    return number;
}

bool Ledger::can_propose() {
    exhausted_ = exhausted_ || !proposer_.propose(configurations() + 1);
    return !exhausted_;
}

std::int64_t Ledger::repeat(std::int64_t first) {
    const auto number = static_cast<std::int64_t>(record_.trials.size()) + 1;
    const TrialRecord& trial = record_.trial(first);
    enter(event::Proposed{number, trial.point, trial.params, first});
    return number;
}

void Ledger::drop_proposal() {
    if (proposer_.computing() != 0) proposer_.drop();
}

std::int64_t Ledger::launch(std::int64_t trial, const std::string& where, Allocation allocation) {
    const std::int64_t attempt = record_.trial(trial).attempt + 1;
    enter(event::Launched{trial, attempt, where, std::move(allocation)});
    return attempt;
}

std::int64_t Ledger::saw_data(std::int64_t trial, const Params& params, const std::string& fingerprint) {
    if (!seen_data_) seen_data_.emplace(store_.seen_data());
    const std::int64_t other = seen_data_->see(trial, params, fingerprint);
    if (seen_data_->take_change()) stored(store_.set_seen_data(seen_data_->text()));
    return other;
}

std::string Ledger::scripts() const { return store_.scripts(); }

void Ledger::set_scripts(const std::string& fingerprints) { stored(store_.set_scripts(fingerprints)); }

void Ledger::measured(std::int64_t trial, Footprint peak) {
    steps_wait_ = true;
    tell(store(event::Measured{trial, record_.trial(trial).attempt, peak}, true));
}

void Ledger::closing(std::int64_t trial, Metrics values) {
    enter(event::Closing{trial, record_.trial(trial).attempt, std::move(values)});
}

void Ledger::take(std::int64_t number, Report report) {
    const event::Reported reported{number, record_.trial(number).attempt, std::move(report)};
    steps_wait_ = true;
    const StoredEvent entered = store(reported, true);
    tell(entered);
    marks_.took(entered, reported);
    restarts_.reported(record_.trial(number));
}

Verdict Ledger::report(std::int64_t number, Report report, bool checkpoints) {
    take(number, std::move(report));
    commit_due_ = commit_due_ || checkpoints;
    return judge(number, checkpoints);
}

Report final_step(const TrialRecord& trial, const Metrics& values, const Budget& budget) {
    Report report;
    report.step = budget.open ? 1 : budget.epochs;
    if (!trial.curve.empty()) report = trial.curve.back();
    for (const auto& [name, value] : values) report.metrics[name] = value;
    return report;
}

Verdict Ledger::report_until_told(std::int64_t number, Report report) {
    take(number, std::move(report));
    const TrialRecord& trial = record_.trial(number);
    const bool last = trial.steps() >= study_.budget.epochs && divergence(trial.curve.back(), study_.objective).empty();
    return last ? Verdict{} : judge(number);
}

Verdict Ledger::judge(std::int64_t number) { return judge(number, std::nullopt); }

/// `checkpoints`: whether the trial would resume from this step after a pause; nothing if it is not running.
Verdict Ledger::judge(std::int64_t number, std::optional<bool> checkpoints) {
    const TrialRecord& trial = record_.trial(number);
    if (trial.curve.empty()) return {};
    using to_worker::Action;
    if (const std::string broken = divergence(trial.curve.back(), study_.objective); !broken.empty()) {
        finish(number, TrialState::diverged, "", broken);
        return {Action::stop, "", broken};
    }
    const bool last = trial.steps() >= study_.budget.epochs;
    if (const std::string why = unjudgeable(trial, study_.objective, last); !why.empty()) {
        finish(number, TrialState::failed, "", why);
        return {Action::stop, "", why};
    }
    if (last) {
        // A trial without a value waits for its end, which may bring one.
        if (trial.value) finish(number, TrialState::complete, "", "");
        return {};
    }
    Verdict verdict = judged_by_rules(number);
    if (verdict.action == Action::stop) finish(number, TrialState::stopped, verdict.rule, verdict.reason);
    if (verdict.action != Action::pause) return verdict;
    if (const auto restart = checkpoints ? restarts_.of(trial, *checkpoints) : std::nullopt;
        restart && restart->is_dearer()) {
        enter(event::Spared{number, trial.attempt, verdict.rule, restart_text(*restart)});
        return {.lasting = verdict.lasting};
    }
    enter(event::Paused{number, trial.attempt, verdict.rule, verdict.reason});
    return verdict;
}

Verdict Ledger::judged_by_rules(std::int64_t number) {
    const TrialRecord& trial = record_.trial(number);
    Verdict verdict = rules_.report(trial);
    if (verdict.lasting) marks_.mark_last(trial);
    if (rules_.forecasts_made() != forecasts_) teach_paused();
    return verdict;
}

void Ledger::finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason) {
    const TrialRecord& record = record_.trial(trial);
    if (state == TrialState::complete)
        if (const std::string why = unjudgeable(record, study_.objective, true); !why.empty())
            return enter(event::Finished{trial, record.attempt, TrialState::failed, "", why});
    enter(event::Finished{trial, record.attempt, state, rule, reason});
}

void Ledger::stop_for_user(std::int64_t trial) { finish(trial, TrialState::stopped, by_user, "stopped by the user"); }

void Ledger::end_stopping() {
    for (const std::int64_t number : std::set(unfinished_)) {
        const TrialRecord& trial = record_.trial(number);
        if (!is_stopping(trial)) continue;
        if (trial.steps() >= study_.budget.epochs) judge(number);
        if (is_stopping(trial)) stop_for_user(number);
    }
}

void Ledger::stop_after_report(std::int64_t trial) {
    enter(event::Paused{trial, record_.trial(trial).attempt, by_user, "stopped by the user"});
}

void Ledger::complete(std::int64_t number, Report last) {
    take(number, std::move(last));
    const TrialRecord& trial = record_.trial(number);
    if (const std::string broken = divergence(trial.curve.back(), study_.objective); !broken.empty())
        return finish(number, TrialState::diverged, "", broken);
    // The rules learn from the step. Their verdict comes too late.
    if (trial.steps() < study_.budget.epochs) (void)judged_by_rules(number);
    finish(number, TrialState::complete, "", "");
}

void Ledger::amend(std::int64_t trial, const std::string& reason) {
    const TrialRecord& record = record_.trial(trial);
    commit_due_ = commit_due_ || waits_for_commits_;
    store(event::Finished{trial, record.attempt, record.state, record.rule, reason}, waits_for_commits_);
}

void Ledger::requeue(std::int64_t trial, Outcome outcome, bool charged, const std::string& reason) {
    enter(event::Requeued{trial, record_.trial(trial).attempt, outcome, charged, reason});
}

void Ledger::promote(std::int64_t number) {
    const TrialRecord& trial = record_.trial(number);
    const std::vector<Gate> rungs = rules_.gates();
    const auto next =
        std::find_if(rungs.begin(), rungs.end(), [&](const Gate& gate) { return gate.step > trial.steps(); });
    const auto forecast = rules_.forecast(number);
    const bool in_full = forecast && forecast->repeats;  // a trial that repeats another one goes on to its end
    const std::string where = in_full               ? "to its end"
                              : next == rungs.end() ? "past the last rung"
                                                    : "to rung " + std::to_string(next - rungs.begin() + 1);
    requeue(number, Outcome::paused, false, "promoted " + where + (trial.rule.empty() ? "" : " by " + trial.rule));
}

std::vector<std::int64_t> Ledger::promotions(bool last, std::size_t most) {
    rules_.expect_trials(!last);
    std::erase_if(unheld_, [&](std::int64_t trial) { return record_.trial(trial).state != TrialState::paused; });
    if (!unheld_.empty())
        return {unheld_.begin(), unheld_.begin() + static_cast<std::ptrdiff_t>(std::min(most, unheld_.size()))};
    // A trial that a rule holds may be queued again: its session ended before its pause was stored.
    for (std::size_t wanted = most;; wanted *= 2) {
        const auto promotable = rules_.promotions(wanted);
        std::vector<std::int64_t> paused;
        for (const std::int64_t trial : promotable)
            if (const TrialRecord& record = record_.trial(trial);
                record.state == TrialState::paused && !is_stopping(record) && paused.size() < most)
                paused.push_back(trial);
        if (paused.size() == most || promotable.size() < wanted) return paused;
    }
}

std::vector<std::int64_t> Ledger::close_paused(std::size_t most) {
    std::vector<std::int64_t> closed;
    for (const std::int64_t trial : unfinished_) {
        if (closed.size() == most) break;
        const TrialRecord& record = record_.trial(trial);
        if (record.state == TrialState::paused && !is_stopping(record)) closed.push_back(trial);
    }
    std::vector<StoredEvent> ends;
    for (const std::int64_t number : closed) {
        const TrialRecord& trial = record_.trial(number);
        const std::string reason = rules_.verdict_on_paused(number);
        const Event end = event::Finished{number, trial.attempt, TrialState::stopped, trial.rule,
                                          reason.empty() ? trial.reason : reason};
        marks_.mark_end(end, record_);
        commit_due_ = true;
        ends.push_back(store(end, true));
        learn(ends.back());
    }
    commit();
    if (on_end_with_study)
        for (const StoredEvent& end : ends) on_end_with_study(end);
    return closed;
}

}  // namespace hpo
