#include "orchestrator/engine/ledger.hpp"

#include <cmath>

namespace hpo {

namespace {

constexpr std::size_t replay_batch = 10'000;

/// What says of every trial that it has diverged, whatever its objective.
constexpr const char* loss = "loss";

/// Why the trial has diverged in this step: the objective or the loss is not finite. Any other metric may be (the best
/// so far before there was one, a rate that is not defined). Empty: it has not.
std::string divergence(const Report& report, const Objective& objective) {
    for (const std::string& name : {objective.metric, std::string(loss)})
        if (const auto found = report.metrics.find(name);
            found != report.metrics.end() && !std::isfinite(found->second))
            return name + " is " + to_text(found->second) + " at step " + std::to_string(report.step);
    return {};
}

}  // namespace

Ledger::Ledger(const Study& study, Store& store, Proposer proposer, Rules rules)
    : study_(study), store_(store), proposer_(std::move(proposer)), rules_(std::move(rules)) {}

Result<void> Ledger::replay() {
    for (;;) {
        auto batch = store_.events(record_.sequence, replay_batch);
        if (!batch) return batch.error();
        for (const StoredEvent& stored : *batch) {
            try {
                apply(record_, stored, study_.objective);
                learn(stored.event);
            } catch (const std::exception& contradiction) {
                return Error{"event " + std::to_string(stored.sequence) +
                             " of the study contradicts those before it (" + contradiction.what() + ")"};
            }
        }
        if (batch->size() < replay_batch) return {};
    }
}

void Ledger::store(const Event& event) {
    const auto stored = store_.append(event);
    if (!stored) throw StoreFailed(stored.error().message);
    apply(record_, *stored, study_.objective);
    if (on_event) on_event(*stored);
}

void Ledger::enter(const Event& event) {
    store(event);
    learn(event);
}

void Ledger::learn(const Event& event) {
    std::visit(
        Overloaded{
            [&](const event::SessionStarted&) {
                for (const std::int64_t trial : unfinished_)
                    if (record_.trial(trial).state == TrialState::queued) queued_.insert(trial);
            },
            [&](const event::Proposed& e) {
                unfinished_.insert(e.trial);
                queued_.insert(e.trial);
                proposer_.proposed(record_.trial(e.trial));
            },
            [&](const event::Launched& e) { queued_.erase(e.trial); },
            // The rules' own state is rebuilt by judging again; what they said then stands in the events that follow.
            [&](const event::Reported& e) {
                const bool judged =
                    divergence(e.report, study_.objective).empty() && e.report.step < study_.budget.epochs;
                if (judged) ask_rules(record_.trial(e.trial));
            },
            [&](const event::Paused& e) {
                queued_.erase(e.trial);
                teach(record_.trial(e.trial));
                tried(record_.trial(e.trial));
            },
            [&](const event::Requeued& e) {
                queued_.insert(e.trial);
                if (e.outcome == Outcome::paused) rules_.promoted(e.trial);
            },
            [&](const event::Finished& e) {
                const TrialRecord& trial = record_.trial(e.trial);
                queued_.erase(e.trial);
                if (unfinished_.erase(e.trial) == 0) return;  // it had ended, and its reason was amended
                rules_.ended(trial);
                trial.state == TrialState::stopped ? teach(trial) : proposer_.tell(trial);
                tried(trial);
            },
            [](const auto&) {},
        },
        event);
}

/// Forecasts that a report has changed are taught for a few dozen paused trials in turn, so that a report costs the
/// same in a study of thousands.
Verdict Ledger::ask_rules(const TrialRecord& trial) {
    constexpr int most = 64;
    Verdict verdict = rules_.report(trial);
    if (rules_.forecasts_made() == forecasts_) return verdict;
    forecasts_ = rules_.forecasts_made();
    auto next = unfinished_.upper_bound(taught_upto_);
    int taught = 0;
    for (std::size_t seen = 0; seen < unfinished_.size() && taught < most; ++seen, ++next) {
        if (next == unfinished_.end()) next = unfinished_.begin();
        const TrialRecord& other = record_.trial(*next);
        if (other.state != TrialState::paused) continue;
        teach(other);
        taught_upto_ = *next;
        ++taught;
    }
    return verdict;
}

/// What a trial that stands still tells: where a rule predicts that it would end, else what it has reached.
void Ledger::teach(const TrialRecord& trial) {
    const auto forecast = rules_.forecast(trial.number);
    if (!forecast) return proposer_.tell(trial);
    if (!forecast->tells) return proposer_.withhold(trial.number);
    proposer_.tell(trial, forecast->value, forecast->deviation);
}

void Ledger::tried(const TrialRecord& trial) {
    if (trial.number != best_trial_) tried_since_best_.insert(trial.number);
    if (!trial.value || trial.state == TrialState::diverged || trial.state == TrialState::failed) return;
    if (best_tried_ && !better(study_.objective.direction, *trial.value, *best_tried_)) return;
    best_tried_ = trial.value;
    best_trial_ = trial.number;
    tried_since_best_.clear();
}

void Ledger::session_started(event::SessionStarted session) { enter(std::move(session)); }

void Ledger::session_ended(double seconds, const std::string& reason) { enter(event::SessionEnded{seconds, reason}); }

std::optional<std::int64_t> Ledger::propose() {
    const auto number = static_cast<std::int64_t>(record_.trials.size()) + 1;
    auto proposal = proposer_.propose(number);
    if (!proposal) return std::nullopt;
    enter(event::Proposed{number, std::move(proposal->point), std::move(proposal->params)});
    return number;
}

std::int64_t Ledger::launch(std::int64_t trial, const std::string& where, Allotment allotment) {
    const std::int64_t attempt = record_.trial(trial).attempt + 1;
    enter(event::Launched{trial, attempt, where, std::move(allotment)});
    return attempt;
}

void Ledger::measured(std::int64_t trial, Footprint peak) {
    enter(event::Measured{trial, record_.trial(trial).attempt, peak});
}

void Ledger::closing(std::int64_t trial, Metrics values) {
    enter(event::Closing{trial, record_.trial(trial).attempt, std::move(values)});
}

Verdict Ledger::report(std::int64_t number, Report report) {
    store(event::Reported{number, record_.trial(number).attempt, std::move(report)});
    return judge(number);
}

Verdict Ledger::report_until_told(std::int64_t number, Report report) {
    store(event::Reported{number, record_.trial(number).attempt, std::move(report)});
    const TrialRecord& trial = record_.trial(number);
    const bool last = trial.steps() >= study_.budget.epochs && divergence(trial.curve.back(), study_.objective).empty();
    return last ? Verdict{} : judge(number);
}

Verdict Ledger::judge(std::int64_t number) {
    const TrialRecord& trial = record_.trial(number);
    if (trial.curve.empty()) return {};
    using to_worker::Action;
    if (const std::string broken = divergence(trial.curve.back(), study_.objective); !broken.empty()) {
        finish(number, TrialState::diverged, "", broken);
        return {Action::stop, "", broken};
    }
    if (trial.steps() >= study_.budget.epochs) {
        finish(number, TrialState::complete, "", "");
        return {};
    }
    Verdict verdict = ask_rules(trial);
    if (verdict.action == Action::stop) finish(number, TrialState::stopped, verdict.rule, verdict.reason);
    if (verdict.action == Action::pause) enter(event::Paused{number, trial.attempt, verdict.rule, verdict.reason});
    return verdict;
}

void Ledger::finish(std::int64_t trial, TrialState state, const std::string& rule, const std::string& reason) {
    enter(event::Finished{trial, record_.trial(trial).attempt, state, rule, reason});
}

void Ledger::amend(std::int64_t trial, const std::string& reason) {
    const TrialRecord& record = record_.trial(trial);
    const auto stored = store_.append(event::Finished{trial, record.attempt, record.state, record.rule, reason});
    if (!stored) throw StoreFailed(stored.error().message);
    apply(record_, *stored, study_.objective);
}

void Ledger::requeue(std::int64_t trial, Outcome outcome, bool charged, const std::string& reason) {
    enter(event::Requeued{trial, record_.trial(trial).attempt, outcome, charged, reason});
}

void Ledger::promote(std::int64_t trial) { requeue(trial, Outcome::paused, false, "promoted"); }

std::vector<std::int64_t> Ledger::promotions(bool last, std::size_t most) {
    rules_.expect_trials(!last);
    // A trial that a rule holds may be queued again: its session ended before its pause was stored.
    for (std::size_t wanted = most;; wanted *= 2) {
        const auto promotable = rules_.promotions(wanted);
        std::vector<std::int64_t> paused;
        for (const std::int64_t trial : promotable)
            if (record_.trial(trial).state == TrialState::paused && paused.size() < most) paused.push_back(trial);
        if (paused.size() == most || promotable.size() < wanted) return paused;
    }
}

std::vector<std::int64_t> Ledger::close_paused(std::size_t most) {
    std::vector<std::int64_t> closed;
    for (const std::int64_t trial : unfinished_) {
        if (closed.size() == most) break;
        if (record_.trial(trial).state == TrialState::paused) closed.push_back(trial);
    }
    for (const std::int64_t number : closed) {
        const TrialRecord& trial = record_.trial(number);
        const std::string reason = rules_.verdict_on_paused(number);
        finish(number, TrialState::stopped, trial.rule, reason.empty() ? trial.reason : reason);
    }
    return closed;
}

const TrialRecord* Ledger::best() const {
    const TrialRecord* best = nullptr;
    for (const TrialRecord& trial : record_.trials) {
        const bool counts = trial.value && trial.state != TrialState::diverged && trial.state != TrialState::failed;
        if (counts && (!best || better(study_.objective.direction, *trial.value, *best->value))) best = &trial;
    }
    return best;
}

}  // namespace hpo
