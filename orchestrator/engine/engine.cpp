#include "orchestrator/engine/engine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hpo/random.hpp"

namespace hpo {

namespace {

constexpr int launch_failures_allowed = 3;
constexpr int memory_deaths_allowed = 3;
constexpr double held_up_after = 30;  // seconds between two ticks, which come every second

std::string count(std::int64_t n, const char* one, const char* many) {
    return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

/// "\n  " before each line of a log's tail; empty for an empty one.
std::string quoted(const std::string& tail) {
    std::string text;
    for (std::size_t at = 0; at < tail.size();) {
        const auto end = std::min(tail.find('\n', at), tail.size());
        text += "\n  | " + tail.substr(at, end - at);
        at = end + 1;
    }
    return text;
}

std::string signal_name(int number) {
    const char* name = sigabbrev_np(number);
    return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace

Engine::Engine(EngineParts parts, int places) : parts_(std::move(parts)), places_(static_cast<std::size_t>(places)) {
    started_ = parts_.clock.now();
}

void Engine::say(Notice::Level level, std::int64_t trial, const std::string& text) const {
    if (parts_.notice) parts_.notice({level, trial, text});
}

double Engine::seconds() const { return parts_.ledger.record().seconds + (parts_.clock.now() - started_).count(); }

bool Engine::done() const {
    return closing_ &&
           std::all_of(places_.begin(), places_.end(), [](const Worker& w) { return w.state == State::empty; });
}

std::vector<std::int64_t> Engine::running() const {
    std::vector<std::int64_t> trials;
    for (const Worker& worker : places_)
        if (worker.state == State::running) trials.push_back(worker.id.trial);
    std::sort(trials.begin(), trials.end());
    return trials;
}

// ---- What comes in. A store that fails ends the study: nothing is launched or acknowledged on words that were not
// kept.

template <class F>
void Engine::guarded(F&& handle) {
    try {
        handle();
        fill();
    } catch (const StoreFailed& failed) {
        conclude(End::failed, std::string("the study's database cannot be written: ") + failed.what());
    }
}

void Engine::start() {
    guarded([this] {
        // A killed session may have stored a trial's last step but not its end.
        for (const std::int64_t number : std::set(parts_.ledger.unfinished())) {
            const TrialRecord& trial = parts_.ledger.record().trial(number);
            if (trial.steps() >= parts_.study.budget.epochs)
                parts_.ledger.finish(trial.number, TrialState::complete, "", "");
        }
    });
}

void Engine::on(Place place, const execution::What& what) {
    guarded([&] {
        std::visit(Overloaded{
                       [&](const execution::Ready& ready) { on_ready(place, ready.hello); },
                       [&](const execution::Said& said) { on_said(place, said.message); },
                       [&](const execution::Exited& exited) { on_exited(place, exited); },
                       [&](const execution::LaunchFailed& failed) { on_launch_failed(place, failed); },
                       [&](const execution::Garbage& garbage) {
                           say(Notice::Level::warning, places_.at(place).id.trial,
                               count(garbage.lines, "line", "lines") + " from the worker in place " +
                                   std::to_string(place) + " ignored: " + garbage.example);
                       },
                   },
                   what);
    });
}

void Engine::tick() {
    guarded([this] {
        if (closing_) return;
        const auto& budget = parts_.study.budget;
        if (budget.seconds && seconds() >= *budget.seconds)
            return conclude(End::finished, "the time budget is used up");
        // Were we held up ourselves (a suspended machine, a blocked terminal), nobody's words were read: silence counts
        // from now.
        const Seconds now = parts_.clock.now();
        const bool held_up = last_tick_ && (now - *last_tick_).count() > held_up_after;
        last_tick_ = now;
        if (held_up)
            for (Worker& worker : places_) worker.heard = now;
        const double patience = parts_.study.resources.progress_timeout;
        for (std::size_t place = 0; place < places_.size(); ++place) {
            Worker& worker = places_[place];
            const bool owes_words =
                worker.state != State::empty && worker.state != State::idle && worker.state != State::leaving;
            if (!owes_words || (now - worker.heard).count() <= patience) continue;
            leave(static_cast<Place>(place),
                  "silent for " + to_text(Value(std::int64_t(patience))) + " s (resources.progress_timeout)");
        }
    });
}

void Engine::interrupt(const std::string& reason) { conclude(End::interrupted, reason); }

void Engine::kill() {
    if (!closing_) conclude(End::interrupted, "killed");
    for (std::size_t place = 0; place < places_.size(); ++place)
        if (places_[place].state != State::empty) parts_.executor.kill(static_cast<Place>(place));
}

Result<void> Engine::stop_trial(std::int64_t number) {
    const auto& trials = parts_.ledger.record().trials;
    if (number < 1 || number > static_cast<std::int64_t>(trials.size()))
        return Error{"there is no trial " + std::to_string(number) + "; the last one is " +
                     std::to_string(trials.size())};
    if (const TrialState state = parts_.ledger.record().trial(number).state; is_final(state))
        return Error{"trial " + std::to_string(number) + " has ended already: " + std::string(to_text(state))};
    guarded([&] {
        parts_.ledger.finish(number, TrialState::stopped, "user", "stopped by the user");
        for (std::size_t place = 0; place < places_.size(); ++place) {
            Worker& worker = places_[place];
            if (worker.id.trial != number) continue;
            if (worker.state == State::running) {
                worker.state = State::ending;
                parts_.executor.send(static_cast<Place>(place), to_worker::Stop{worker.id});
            }
        }
        trial_ended(number);
    });
    return {};
}

// ---- What goes out.

/// Idle workers take what may start; empty places get a worker while there is more to do than workers; and when nothing
/// is left, the study ends.
void Engine::fill() {
    if (closing_) return;
    bool moved = true;
    while (moved && !closing_) {
        moved = false;
        for (std::size_t place = 0; place < places_.size() && !closing_; ++place)
            if (places_[place].state == State::idle) moved |= give_work(static_cast<Place>(place));
    }
    if (closing_) return;

    const auto waiting_workers = std::count_if(places_.begin(), places_.end(), [](const Worker& w) {
        return w.state == State::starting || w.state == State::idle;
    });
    std::int64_t wanted = work_left() - waiting_workers;
    for (std::size_t place = 0; place < places_.size() && wanted > 0; ++place) {
        if (places_[place].state != State::empty) continue;
        places_[place] = {.state = State::starting, .heard = parts_.clock.now()};
        parts_.executor.launch(static_cast<Place>(place), parts_.worker(static_cast<Place>(place)));
        --wanted;
    }

    const bool busy = std::any_of(places_.begin(), places_.end(),
                                  [](const Worker& w) { return w.state != State::empty && w.state != State::idle; });
    if (busy || work_left() > 0) return;
    parts_.ledger.close_paused();
    conclude(End::finished, exhausted_          ? "every configuration of the space was tried"
                            : out_of_patience() ? count(parts_.ledger.ended_since_best(), "trial", "trials") +
                                                      " without a better best (budget.patience)"
                                                : "all trials of the budget have ended");
}

/// Something for an idle worker: a planned trial that fits, else one more trial to plan. False: nothing to do for it
/// now.
bool Engine::give_work(Place place) {
    // What has been launched longest comes first: the order in which room is expected (plan.hpp).
    std::map<std::int64_t, Booking> launched;
    for (const Worker& worker : places_)
        if (assigned(worker.id.trial) && footprints_.contains(worker.id.trial))
            launched[worker.order] = {worker.id.trial, footprints_.at(worker.id.trial)};
    std::vector<Booking> running;
    for (const auto& [order, booking] : launched) running.push_back(booking);

    std::vector<Waiting> waiting;
    std::int64_t unplanned = 0;
    for (const std::int64_t trial : parts_.ledger.unfinished()) {
        if (assigned(trial) || parts_.ledger.record().trial(trial).state != TrialState::queued) continue;
        if (const auto footprint = footprints_.find(trial); footprint != footprints_.end())
            waiting.push_back({trial, footprint->second});
        else if (unplanned == 0)
            unplanned = trial;
    }
    std::vector<std::int64_t> workers;
    for (const Worker& worker : places_)
        if (worker.pid) workers.push_back(worker.pid);
    const Admission admission =
        admit(parts_.machine(workers), running, waiting, static_cast<std::int64_t>(places_.size()));
    for (const auto& refusal : admission.never) {
        parts_.ledger.finish(refusal.trial, TrialState::failed, "", refusal.reason);
        trial_failed(refusal.trial);
    }
    if (!admission.never.empty()) return !closing_;
    if (!admission.launch.empty()) return run(place, admission.launch.front()), true;

    // Look a little further than the trial that does not fit, for a smaller one.
    if (waiting.size() >= places_.size()) return false;
    if (unplanned == 0) unplanned = further_trial();
    if (unplanned == 0) return false;
    if (footprints_.contains(unplanned)) return true;
    Worker& worker = places_.at(place);
    if (!worker.plans) return footprints_[unplanned] = Footprint{}, true;
    worker.state = State::planning;
    worker.id = {unplanned, 0};
    worker.heard = parts_.clock.now();
    parts_.executor.send(
        place, to_worker::Plan{unplanned, configuration(unplanned), parts_.study.budget.epochs, parts_.study.seed});
    return true;
}

/// A trial that is not queued yet: a promoted one, else a new one. 0: none.
std::int64_t Engine::further_trial() {
    const auto promotions = parts_.ledger.promotions(!may_propose());
    if (!promotions.empty()) return parts_.ledger.promote(promotions.front()), promotions.front();
    if (!may_propose()) return 0;
    if (const auto trial = parts_.ledger.propose()) return *trial;
    exhausted_ = true;
    return 0;
}

bool Engine::out_of_patience() const {
    const auto& patience = parts_.study.budget.patience;
    return patience && parts_.ledger.ended_since_best() >= *patience;
}

bool Engine::may_propose() const {
    return !exhausted_ && !out_of_patience() &&
           static_cast<std::int64_t>(parts_.ledger.record().trials.size()) < parts_.study.budget.trials;
}

/// Trials that some worker could start on now or soon.
std::int64_t Engine::work_left() const {
    std::int64_t work = 0;
    for (const std::int64_t trial : parts_.ledger.unfinished())
        if (parts_.ledger.record().trial(trial).state == TrialState::queued && !assigned(trial)) ++work;
    if (may_propose())
        work += parts_.study.budget.trials - static_cast<std::int64_t>(parts_.ledger.record().trials.size());
    return work + static_cast<std::int64_t>(parts_.ledger.promotions(!may_propose()).size());
}

/// Whether a worker plans, runs or is ending the trial.
bool Engine::assigned(std::int64_t trial) const {
    return std::any_of(places_.begin(), places_.end(), [&](const Worker& w) {
        return w.id.trial == trial &&
               (w.state == State::planning || w.state == State::running || w.state == State::ending);
    });
}

/// Fixed keys and the trial's own, as the worker takes them.
Params Engine::configuration(std::int64_t trial) const {
    Params params = parts_.ledger.record().trial(trial).params;
    params.insert(parts_.study.worker.begin(), parts_.study.worker.end());
    return params;
}

void Engine::run(Place place, std::int64_t trial) {
    const std::string where = "cpu " + std::to_string(place);
    const std::int64_t attempt = parts_.ledger.launch(trial, where);
    Worker& worker = places_.at(place);
    worker.state = State::running;
    worker.order = ++launches_;
    worker.id = {trial, attempt};
    worker.heard = parts_.clock.now();
    parts_.executor.log_to(place, parts_.log_file(trial));

    to_worker::Run run;
    run.id = worker.id;
    run.params = configuration(trial);
    run.steps = parts_.study.budget.epochs;
    const auto fixed = run.params.find("seed");
    run.seed = fixed != run.params.end() ? static_cast<std::uint64_t>(number_or(fixed->second, 0))
                                         : trial_seed(parts_.study.seed, static_cast<std::uint64_t>(trial));
    run.data_seed = parts_.study.seed;
    run.objective = parts_.study.objective;
    run.folder = parts_.checkpoints(trial).string();
    run.resume = attempt > 1;
    parts_.executor.send(place, run);
}

/// Asks a worker to leave: Shutdown, TERM, and KILL after the grace period.
void Engine::leave(Place place, const std::string& reason) {
    Worker& worker = places_.at(place);
    if (worker.state == State::empty) return;
    if (worker.kill_reason.empty()) worker.kill_reason = reason;
    worker.overdue = worker.state == State::running || worker.state == State::planning ? worker.id : AttemptId{};
    worker.state = State::leaving;
    parts_.executor.send(place, to_worker::Shutdown{});
    parts_.executor.terminate(place, parts_.study.resources.grace);
}

void Engine::conclude(End end, const std::string& reason) {
    if (closing_) return;
    closing_ = true;
    end_ = end;
    end_reason_ = reason;
    for (std::size_t place = 0; place < places_.size(); ++place) {
        const Worker& worker = places_[place];
        if (worker.state == State::running) {
            try {
                parts_.ledger.requeue(worker.id.trial, Outcome::interrupted, false, reason);
            } catch (const StoreFailed&) {
                // The next session finds it running without a worker, and queues it again.
            }
        }
        places_[place].id = {};
        leave(static_cast<Place>(place), reason);
    }
}

// ---- Workers.

void Engine::on_ready(Place place, const from_worker::Hello& hello) {
    launch_failures_ = 0;
    Worker& worker = places_.at(place);
    if (worker.state != State::starting) return;
    worker.state = State::idle;
    worker.pid = hello.pid;
    worker.plans = std::find(hello.capabilities.begin(), hello.capabilities.end(), "plan") != hello.capabilities.end();
}

void Engine::on_said(Place place, const WorkerMessage& message) {
    places_.at(place).heard = parts_.clock.now();
    std::visit(Overloaded{
                   [&](const from_worker::PlanAnswer& m) { on_plan(place, m); },
                   [&](const from_worker::Reported& m) { on_report(place, m); },
                   [&](const from_worker::Finished& m) { on_finished(place, m); },
                   [&](const from_worker::Log& m) { say(Notice::Level::info, m.id.trial, m.text); },
                   [](const auto&) {},
               },
               message);
}

void Engine::on_plan(Place place, const from_worker::PlanAnswer& answer) {
    Worker& worker = places_.at(place);
    if (worker.state != State::planning || answer.id != worker.id.trial) return;
    worker.state = State::idle;
    if (is_final(parts_.ledger.record().trial(answer.id).state)) return;
    if (answer.error.empty()) {
        footprints_[answer.id] = answer.footprint;
        return;
    }
    parts_.ledger.finish(answer.id, TrialState::failed, "", answer.error);
    trial_failed(answer.id);
}

void Engine::on_report(Place place, const from_worker::Reported& message) {
    Worker& worker = places_.at(place);
    const std::int64_t step = message.report.step;
    if (worker.state != State::running || message.id != worker.id)
        return say(Notice::Level::info, message.id.trial,
                   "a report of attempt " + std::to_string(message.id.attempt) + " came after its end; not used");
    if (step < 1 || step > parts_.study.budget.epochs || step <= worker.last_step) {
        say(Notice::Level::warning, message.id.trial,
            "step " + std::to_string(step) + " was reported after step " + std::to_string(worker.last_step) + " of " +
                std::to_string(parts_.study.budget.epochs) + "; not used");
        return parts_.executor.send(place, to_worker::Decision{worker.id, step, to_worker::Action::go_on});
    }
    reported_anything_ = true;
    worker.last_step = step;
    const Verdict verdict = parts_.ledger.report(worker.id.trial, message.report);
    const TrialRecord& trial = parts_.ledger.record().trial(worker.id.trial);
    // Every step's warning is in its report; a person is told once an attempt.
    if (!message.report.warning.empty() && !std::exchange(worker.warned, true))
        say(Notice::Level::warning, trial.number, message.report.warning);
    if (trial.state != TrialState::running) {
        worker.state = State::ending;
        if (is_final(trial.state)) footprints_.erase(trial.number);
    }
    parts_.executor.send(place, to_worker::Decision{worker.id, step, verdict.action});
}

void Engine::on_finished(Place place, const from_worker::Finished& message) {
    Worker& worker = places_.at(place);
    if (message.id != worker.id || (worker.state != State::running && worker.state != State::ending)) return;
    const bool decided = worker.state == State::ending;
    const std::int64_t trial = worker.id.trial;
    worker.state = State::idle;
    worker.id = {};
    worker.last_step = 0;
    worker.warned = false;
    if (decided) return trial_ended(trial);

    // The worker ended by its own account.
    switch (message.outcome) {
        case Outcome::complete:
            parts_.ledger.finish(trial, TrialState::complete, "", message.message);
            return trial_ended(trial);
        case Outcome::diverged:
            parts_.ledger.finish(trial, TrialState::diverged, "", message.message);
            return trial_ended(trial);
        case Outcome::out_of_memory:
            return out_of_memory(trial, message.message, 0);
        default:
            parts_.ledger.finish(
                trial, TrialState::failed, "",
                message.message.empty() ? "the worker said " + std::string(to_text(message.outcome)) : message.message);
            return trial_failed(trial);
    }
}

void Engine::on_exited(Place place, const execution::Exited& exited) {
    const Worker gone = places_.at(place);
    places_.at(place) = {};
    const std::string how = exited.signal ? "the worker died of " + signal_name(exited.signal)
                                          : "the worker exited with status " + std::to_string(exited.code);
    if (gone.state == State::starting) return launch_failed(how + " before it said hello" + quoted(exited.log_tail));

    AttemptId id = gone.state == State::leaving ? gone.overdue : gone.id;
    if (gone.state == State::ending) trial_ended(id.trial);
    const bool charged = gone.state == State::running || gone.state == State::planning || gone.state == State::leaving;
    if (!charged || id.trial == 0 || is_final(parts_.ledger.record().trial(id.trial).state)) return;

    if (exited.out_of_memory_kill)
        return out_of_memory(id.trial, "killed by the kernel's out-of-memory killer", exited.peak_bytes);
    const std::string reason = (gone.kill_reason.empty() ? how : gone.kill_reason) + quoted(exited.log_tail);
    const std::int64_t failures = parts_.ledger.record().trial(id.trial).failures + 1;
    if (failures <= parts_.study.resources.retries) {
        parts_.ledger.requeue(id.trial, Outcome::lost, true, reason);
        return say(Notice::Level::warning, id.trial,
                   reason + "\n  tried again (" + std::to_string(failures) + " of " +
                       std::to_string(parts_.study.resources.retries) + ")");
    }
    parts_.ledger.finish(id.trial, TrialState::failed, "",
                         count(failures, "attempt", "attempts") + " ended: " + reason);
    trial_failed(id.trial);
}

/// Not the trial's fault: queued again with a larger booking; after three such deaths it fails with the numbers.
void Engine::out_of_memory(std::int64_t trial, const std::string& message, std::int64_t peak) {
    Footprint& footprint = footprints_[trial];
    footprint.host_bytes = std::max(footprint.host_bytes + footprint.host_bytes / 2, peak + peak / 4);
    if (++memory_deaths_[trial] < memory_deaths_allowed) {
        parts_.ledger.requeue(trial, Outcome::out_of_memory, false, message);
        return say(Notice::Level::warning, trial,
                   message + "; queued again with " + std::to_string(footprint.host_bytes >> 20) + " MiB booked");
    }
    parts_.ledger.finish(trial, TrialState::failed, "",
                         message + ", " + count(memory_deaths_allowed, "time", "times") +
                             "; last booked: " + std::to_string(footprint.host_bytes >> 20) + " MiB");
    trial_failed(trial);
}

void Engine::on_launch_failed(Place place, const execution::LaunchFailed& failed) {
    places_.at(place) = {};
    launch_failed(failed.message);
}

void Engine::launch_failed(const std::string& message) {
    say(Notice::Level::error, 0, message);
    if (closing_ || ++launch_failures_ < launch_failures_allowed) return;
    conclude(End::failed, count(launch_failures_, "launch", "launches") + " of a worker failed in a row: " + message);
}

// ---- Ends of trials.

void Engine::trial_ended(std::int64_t trial) {
    const TrialRecord& record = parts_.ledger.record().trial(trial);
    if (!is_final(record.state)) return;
    footprints_.erase(trial);
    memory_deaths_.erase(trial);
    if (record.state != TrialState::failed) failures_in_a_row_ = 0;
    if (parts_.trial_ended) parts_.trial_ended(record);
}

/// One cause that fails every trial (no data, a broken script) must not use up the budget.
void Engine::trial_failed(std::int64_t trial) {
    const std::string reason = parts_.ledger.record().trial(trial).reason;
    trial_ended(trial);
    say(Notice::Level::error, trial, reason);
    failures_in_a_row_ = reason == last_failure_ ? failures_in_a_row_ + 1 : 1;
    last_failure_ = reason;
    if (!reported_anything_ && failures_in_a_row_ >= launch_failures_allowed)
        conclude(End::failed,
                 count(failures_in_a_row_, "trial", "trials") + " failed alike, and none ever reported: " + reason);
}

}  // namespace hpo
