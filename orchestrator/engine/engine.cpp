#include "orchestrator/engine/engine.hpp"

#include <algorithm>

#include "hpo/random.hpp"
#include "orchestrator/engine/words.hpp"

namespace hpo {

namespace {

constexpr double ending_patience = 60;  // seconds from the decision that ends an attempt to the worker's last word
constexpr double held_up_after = 30;    // seconds between two ticks, which come every second

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
            // An attempt that was told to end is not kept alive by words.
            const double allowed = worker.state == State::ending ? std::min(patience, ending_patience) : patience;
            if (!owes_words || (now - worker.heard).count() <= allowed) continue;
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
                worker.heard = parts_.clock.now();
                parts_.executor.send(static_cast<Place>(place), to_worker::Stop{worker.id});
            }
        }
        if (!assigned(number)) trial_ended(number);
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
        parts_.ledger.finish(refusal.trial, TrialState::failed, "", refusal.text);
        trial_failed(refusal.trial, "does not fit");
    }
    if (!admission.never.empty()) return !closing_;
    if (!admission.launch.empty()) return run(place, admission.launch.front().trial), true;

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

}  // namespace hpo
