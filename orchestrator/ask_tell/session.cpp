#include "orchestrator/ask_tell/session.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "hpo/standing.hpp"
#include "hpo/text.hpp"
#include "orchestrator/engine/text.hpp"

namespace hpo::ask_tell {

namespace {

constexpr std::size_t all_at_once = 1'000'000;

std::string named(std::int64_t trial) { return "trial " + std::to_string(trial); }

/// Describes how a trial ended: "stopped (asha: 3rd of 3 ...)".
std::string ended_as(const TrialRecord& trial) {
    std::string message(to_text(trial.state));
    if (!trial.reason.empty())
        message += " (" + (trial.rule.empty() ? "" : trial.rule + ": ") + trial.reason.substr(0, 200) + ")";
    return message;
}

Error no_value(std::int64_t trial, const std::string& metric) {
    return {named(trial) + " has no value of " + metric + ": end it with one, or as failed"};
}

}  // namespace

Session::Session(const Study& study, Ledger& ledger, const Clock& clock)
    : study_(study),
      ledger_(ledger),
      clock_(clock),
      supply_(study, ledger),
      began_(clock.now()),
      seconds_before_(ledger.record().seconds) {
    // A killed session may have stored a step of a trial without the pause or end that followed from it.
    for (const std::int64_t trial : std::set(ledger_.unfinished()))
        if (ledger_.record().trial(trial).state != TrialState::paused) ledger_.judge(trial);
}

Offers Session::ask(std::int64_t count) {
    Offers offers;
    while (static_cast<std::int64_t>(offers.trials.size()) < count && !out_of_time() && !stopping_) {
        const auto& queued = ledger_.queued();
        const std::int64_t trial = queued.empty() ? supply_.further_trial() : *queued.begin();
        if (trial == 0) break;
        launch(trial);
        const TrialRecord& record = ledger_.record().trial(trial);
        offers.trials.push_back({trial, record.params, record.repeat_of, record.steps()});
    }
    if (static_cast<std::int64_t>(offers.trials.size()) == count) return offers;
    if (stopping_ || over()) {
        if (!stopping_ && !out_of_time()) ledger_.close_paused(all_at_once);
        offers.done = true;
    }
    offers.reason = why_fewer();
    return offers;
}

Result<void> Session::stop(std::int64_t trial) {
    const auto count = static_cast<std::int64_t>(ledger_.record().trials.size());
    if (trial < 1 || trial > count)
        return Error{"there is no " + named(trial) + "; the last one is " + std::to_string(count)};
    const TrialState state = ledger_.record().trial(trial).state;
    if (is_final(state)) return Error{named(trial) + " has ended already: " + std::string(to_text(state))};
    if (state == TrialState::running)
        ledger_.stop_after_report(trial);
    else if (!is_stopping(ledger_.record().trial(trial)))
        ledger_.stop_for_user(trial);
    return {};
}

Result<Verdict> Session::report(std::int64_t trial, std::int64_t step, Metrics values) {
    if (const auto taken = take(trial); !taken) return taken.error();
    const std::int64_t last = reported_[trial], steps = study_.budget.epochs;
    if (step < 1 || step > steps)
        return Error{"step " + std::to_string(step) + " of " + named(trial) + ": steps count from 1 to " +
                     std::to_string(steps) + ", the study's epochs"};
    if (step <= last)
        return Error{"step " + std::to_string(step) + " of " + named(trial) + " is not after step " +
                     std::to_string(last) +
                     ", the last one that it has reported: report all metrics of a step together"};
    Report report;
    report.step = step;
    report.metrics = std::move(values);
    const Objective& objective = study_.objective;
    if (objective.at == Objective::At::best && report.metrics.contains(objective.metric))
        if (const std::string missing = missing_metric(report, objective); !missing.empty())
            return Error{"step " + std::to_string(step) + " of " + named(trial) + " has " + objective.metric +
                         " and no " + missing + ": report both, or neither"};
    const bool stopping = is_stopping(ledger_.record().trial(trial));
    Verdict verdict = ledger_.report_until_told(trial, std::move(report));
    const TrialRecord& record = ledger_.record().trial(trial);
    if (step < steps && stopping && !is_final(record.state)) {
        ledger_.stop_for_user(trial);
        verdict = {to_worker::Action::stop, record.rule, record.reason};
    }
    if (verdict.action == to_worker::Action::go_on)
        reported_[trial] = step;
    else
        reported_.erase(trial);
    return verdict;
}

Result<Told> Session::complete(std::int64_t trial, Metrics values) {
    if (const auto taken = take(trial); !taken) return taken.error();
    const TrialRecord& record = ledger_.record().trial(trial);
    const auto told = values.find(study_.objective.metric);
    if (told == values.end() && !record.value) return no_value(trial, study_.objective.metric);
    // The told value replaces that of the last step. If the best step counts and the told value is not better, it is
    // only stored with the closing metrics.
    const bool counts =
        told != values.end() && (!record.value || !std::isfinite(told->second) ||
                                 better(study_.objective.direction, told->second, *record.value) ||
                                 (study_.objective.at == Objective::At::last && told->second != *record.value));
    if (counts) {
        Report report = final_step(record, values, study_.budget);
        // One value is one step, unless rules compare it with trials that were trained in full.
        if (record.curve.empty() && study_.stopping.empty()) report.step = 1;
        if (const std::string missing = missing_metric(report, study_.objective); !missing.empty())
            return no_value(trial, missing);
        ledger_.complete(trial, std::move(report));
    } else {
        if (told != values.end() && told->second == *record.value) values.erase(study_.objective.metric);
        if (!values.empty()) ledger_.closing(trial, std::move(values));
        ledger_.finish(trial, TrialState::complete, "", "");
    }
    reported_.erase(trial);
    return Told{record.state, record.reason};
}

Result<Told> Session::give_up(std::int64_t trial, Metrics values, const std::string& reason) {
    if (const auto taken = take(trial); !taken) return taken.error();
    const TrialRecord& record = ledger_.record().trial(trial);
    if (!record.value) return no_value(trial, study_.objective.metric);
    if (record.steps() >= study_.budget.epochs) return complete(trial, std::move(values));
    if (!values.empty()) ledger_.closing(trial, std::move(values));
    ledger_.finish(trial, TrialState::stopped, by_script, reason.empty() ? "told as stopped" : reason);
    reported_.erase(trial);
    return Told{record.state, record.reason};
}

Result<Told> Session::fail(std::int64_t trial, Metrics values, const std::string& reason) {
    if (const auto taken = take(trial); !taken) return taken.error();
    if (!values.empty()) ledger_.closing(trial, std::move(values));
    ledger_.finish(trial, TrialState::failed, "", reason.empty() ? "told as failed" : reason);
    reported_.erase(trial);
    return Told{TrialState::failed, reason};
}

void Session::end(const std::string& why) {
    const bool is_over = !stopping_ && over();
    const SessionEnd how = !is_over        ? SessionEnd::interrupted
                           : out_of_time() ? SessionEnd::out_of_time
                                           : SessionEnd::finished;
    const std::string reason = stopping_ ? "stopped by the user" : is_over ? why_fewer() : why;
    for (const std::int64_t trial : std::set(ledger_.unfinished())) {
        const TrialRecord& record = ledger_.record().trial(trial);
        if (record.state != TrialState::running) continue;
        if (record.steps() >= study_.budget.epochs) ledger_.judge(trial);
        if (record.state == TrialState::running) ledger_.requeue(trial, Outcome::interrupted, false, reason);
    }
    ledger_.end_stopping();
    ledger_.session_ended({(clock_.now() - began_).count(), reason, how});
}

bool Session::over() const {
    if (out_of_time()) return true;
    return count_of(TrialState::running) == 0 && ledger_.queued().empty() && !supply_.may_propose() &&
           !supply_.to_repeat() && supply_.promotions(1).empty();
}

/// Checks that a trial is running, or was when the user stopped it. Launches it again if an earlier session handed it
/// out, since the caller may not know that the session has ended in the meantime.
Result<void> Session::take(std::int64_t trial) {
    const auto count = static_cast<std::int64_t>(ledger_.record().trials.size());
    if (trial < 1 || trial > count)
        return Error{"there is no " + named(trial) +
                     (count == 0 ? ": none has been asked for" : "; the last one is " + std::to_string(count))};
    const TrialRecord& record = ledger_.record().trial(trial);
    if (is_final(record.state)) return Error{named(trial) + " has ended already: " + ended_as(record)};
    if (is_stopping(record)) return {};
    if (record.state == TrialState::paused)
        return Error{named(trial) + " is paused after step " + std::to_string(record.steps()) +
                     ": it goes on once it is given out again"};
    if (record.state == TrialState::running) return {};
    if (record.attempt == 0) return Error{named(trial) + " has not been given out: ask for it"};
    launch(trial);
    return {};
}

void Session::launch(std::int64_t trial) {
    Allocation nothing;
    nothing.footprint = {0, 0, 0};
    ledger_.launch(trial, "asking program", std::move(nothing));
    reported_[trial] = 0;
}

std::string Session::why_fewer() const {
    if (stopping_) return "the user stopped the study";
    if (out_of_time()) return "the time budget is used up";
    const std::int64_t out = count_of(TrialState::running), paused = count_of(TrialState::paused);
    if (out == 0) return supply_.why_over();
    std::string message = counted(out, "trial has", "trials have") + " not ended";
    if (paused > 0)
        message += ", and " + counted(paused, "paused one waits", "paused ones wait") + " for what they report";
    return message + "; no new one starts: " +
           (static_cast<std::int64_t>(ledger_.record().trials.size()) >= study_.budget.trials
                ? "budget.trials is " + std::to_string(study_.budget.trials)
                : supply_.why_over());
}

std::int64_t Session::count_of(TrialState state) const {
    std::int64_t number = 0;
    for (const std::int64_t trial : ledger_.unfinished())
        if (const TrialRecord& record = ledger_.record().trial(trial); record.state == state && !is_stopping(record))
            ++number;
    return number;
}

bool Session::out_of_time() const {
    return study_.budget.seconds && seconds_before_ + (clock_.now() - began_).count() >= *study_.budget.seconds;
}

}  // namespace hpo::ask_tell
