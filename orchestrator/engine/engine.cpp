#include "orchestrator/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/engine/text.hpp"
#include "orchestrator/engine/waiting_for.hpp"

namespace hpo {

namespace {

constexpr std::size_t closed_at_once = 50;  // paused trials that end with the study in one round
constexpr double held_up_after = 3;         // seconds between two ticks, which come every second

}  // namespace

Engine::Engine(EngineParts parts, int workers)
    : context_{.parts = std::move(parts), .end_reason = {}},
      supply_(context_.parts.study, context_.parts.ledger, context_.parts.proposal_ready),
      pool_(context_.parts.study.resources, context_.executor, context_.parts.clock, placement_, workers),
      diagnoses_(placement_),
      requirements_(context_.parts.study, context_.parts.ledger, placement_, context_.parts.on_device),
      machine_(context_, pool_, health_),
      throughput_(context_, pool_, placement_),
      forecasts_(context_),
      backends_(context_, pool_, requirements_, forecasts_),
      ends_(context_, pool_, requirements_),
      memory_(context_, machine_, requirements_, ends_, diagnoses_),
      devices_(context_, pool_, health_, machine_, launches_),
      attempts_(
          {context_, pool_, machine_, health_, requirements_, ends_, memory_, placement_, throughput_, forecasts_}),
      worker_ends_({context_, pool_, machine_, health_, devices_, launches_, requirements_, ends_, memory_, diagnoses_,
                    attempts_}),
      starts_({context_, placement_, pool_, machine_, health_, launches_, requirements_, ends_, attempts_, supply_,
               throughput_, forecasts_, backends_}),
      core_sharing_(context_, pool_, starts_),
      started_(context_.now()),
      last_tick_(started_),
      seconds_before_(context_.parts.ledger.record().seconds) {
    Ledger& ledger = context_.parts.ledger;
    ledger.wait_for_commits();
    for (const std::int64_t trial : ledger.queued()) placement_.set_queued(trial, true);
    ledger.on_queue_change = [this](std::int64_t trial, bool queued) { placement_.set_queued(trial, queued); };
}

// ---- The loop: takes in events; the end of a round acts on them.

void Engine::start() {
    guarded([this] {
        finish_what_was_stored();
        requirements_.recall(machine_.for_trials());
        starts_.warm_up();
    });
}

void Engine::on(WorkerIndex index, const execution::Event& event) {
    guarded([&] {
        std::visit(Overloaded{
                       [&](const execution::Ready& ready) {
                           for (const std::string& note : ready.hello.notes)
                               if (remarks_.insert(note).second) context_.say(Notice::Level::info, 0, note);
                           starts_.worker_ready(index, ready.hello);
                       },
                       [&](const execution::Received& received) { on_message(index, received.message); },
                       [&](const execution::Exited& exited) { worker_ends_.exited(index, exited); },
                       [&](const execution::LaunchFailed& failed) { worker_ends_.launch_failed(index, failed); },
                       [&](const execution::Notice& notice) {
                           if (remarks_.insert(notice.text).second)
                               context_.say(Notice::Level::warning, 0, notice.text);
                       },
                       [&](const execution::MalformedLines& malformed) {
                           const auto& jobs = pool_.at(index).jobs;
                           context_.say(Notice::Level::warning, jobs.size() == 1 ? jobs.front().id.trial : 0,
                                        counted(malformed.lines, "line") + " from worker " + std::to_string(index) +
                                            " ignored: " + malformed.example);
                       },
                   },
                   event);
    });
}

void Engine::on_message(WorkerIndex index, const WorkerMessage& message) {
    pool_.note_life(index, message);
    std::visit(Overloaded{
                   [&](const from_worker::PlanAnswer& answer) { starts_.planned(index, answer); },
                   [&](const from_worker::Started& started) { attempts_.started(index, started); },
                   [&](const from_worker::Reported& report) { attempts_.reported(index, report); },
                   [&](const from_worker::Finished& end) { attempts_.finished(index, end); },
                   [&](const from_worker::Log& line) { attempts_.logged(index, line); },
                   [](const auto&) {},
               },
               message);
}

void Engine::tick() {
    guarded([this] {
        context_.parts.ledger.summarize();
        if (context_.closing()) return;
        if (out_of_time()) return context_.conclude(End::out_of_time, "the time budget is used up");
        forgive_own_delay();
        pool_.end_silent();
        attempts_.measure();
        devices_.set_lost_aside();
        worker_ends_.diagnose_pending();
        starts_.find_unreachable();
        placement_.look_again();  // other programs may have freed memory
    });
}

void Engine::end_round() {
    guarded([this] {
        start_trials();
        end_if_over();
        context_.parts.ledger.commit();
    });
    context_.executor.release();
}

/// Decides only if something has changed.
void Engine::start_trials() {
    if (context_.closing() || !placement_.take_changed()) return;
    throughput_.observe();
    starts_.start_trials();
    core_sharing_.update();
    (void)placement_.take_changed();  // the trials that have just started have changed it
    throughput_.observe();
}

void Engine::end_if_over() {
    const bool has_work = pool_.busy() || !diagnoses_.empty() || starts_.work_left() > 0;
    if (!context_.closing() && !has_work) end_paused_trials();
    if (context_.closing()) wind_up();
}

/// A failed store ends the session, since no worker may be answered because of an event that was not stored.
template <class F>
void Engine::guarded(F&& handle) {
    try {
        handle();
    } catch (const StoreFailed& failed) {
        context_.executor.drop();
        context_.conclude(End::failed, std::string("the study's database cannot be written: ") + failed.what());
        wind_up();
    }
}

// ---- Parts of the loop.

/// Ends or pauses trials whose last step was stored by a killed session without its verdict.
void Engine::finish_what_was_stored() {
    for (const std::int64_t trial : std::set(context_.parts.ledger.unfinished())) {
        if (context_.trial(trial).state == TrialState::paused) continue;
        context_.parts.ledger.judge(trial);
        ends_.announce(trial);
    }
}

bool Engine::out_of_time() const {
    const auto& budget = context_.parts.study.budget;
    return budget.seconds && seconds() + context_.parts.waited.count() >= *budget.seconds;
}

double Engine::seconds() const { return seconds_before_ + (context_.now() - started_).count(); }

void Engine::forgive_own_delay() {
    const Seconds now = context_.now();
    if ((now - last_tick_).count() > held_up_after) pool_.forgive_silence();
    last_tick_ = now;
}

/// Ends paused trials that no rule promotes any more, `closed_at_once` per round. The study is over after the last one.
void Engine::end_paused_trials() {
    const auto closed = context_.parts.ledger.close_paused(closed_at_once);
    for (const std::int64_t trial : closed) ends_.announce(trial);
    more_to_close_ = closed.size() == closed_at_once;
    if (!more_to_close_) context_.conclude(End::finished, supply_.why_over());
}

/// Queues running trials again for the next session, and asks all workers to leave.
void Engine::wind_up() {
    if (std::exchange(wound_up_, true)) return;
    if (const std::string about = attempts_.about_remarks(); !about.empty())
        context_.say(Notice::Level::warning, 0, about);
    const auto requeue = [&](std::int64_t trial) {
        if (context_.trial(trial).state != TrialState::running) return;
        try {
            context_.parts.ledger.requeue(trial, Outcome::interrupted, false, context_.end_reason);
        } catch (const StoreFailed&) {
            // The next session finds it running without a worker, and queues it again.
        }
    };
    for (const PendingDiagnosis& diagnosis : diagnoses_.all()) requeue(diagnosis.job.id.trial);
    diagnoses_.clear();
    for (const std::int64_t trial : pool_.running()) requeue(trial);
    pool_.end_all(context_.end_reason);
}

// ---- Requests and questions from outside.

std::vector<HeldResources> Engine::held_resources() const {
    std::vector<const Job*> launched;
    for (const Worker& worker : pool_.workers())
        for (const Job& job : worker.jobs) launched.push_back(&job);
    for (const PendingDiagnosis& diagnosis : diagnoses_.all()) launched.push_back(&diagnosis.job);
    std::sort(launched.begin(), launched.end(), [](const Job* a, const Job* b) { return a->order < b->order; });
    std::vector<HeldResources> all;
    all.reserve(launched.size());
    for (const Job* job : launched) all.push_back(job->held);
    return all;
}

std::map<std::int64_t, double> Engine::predicted_ends() const {
    constexpr std::size_t most = 256;  // a viewer's screen has fewer rows
    std::map<std::int64_t, double> ends;
    for (const std::int64_t trial : pool_.running()) {
        if (ends.size() == most) break;
        if (const auto end = context_.parts.ledger.predicted_end(trial)) ends.emplace(trial, *end);
    }
    return ends;
}

std::vector<std::string> Engine::waiting_for() const {
    const Ledger& ledger = context_.parts.ledger;
    SessionState state{.ends = context_.closing() ? context_.end_reason : "",
                       .queued = ledger.queued().size(),
                       .proposing = ledger.proposer().computing(),
                       .diagnoses = diagnoses_.all().size(),
                       .waits = starts_.waits()};
    for (const std::int64_t trial : ledger.unfinished())
        state.paused += context_.trial(trial).state == TrialState::paused ? 1U : 0U;
    return hpo::waiting_for(pool_, state, context_.now());
}

void Engine::proposal_ready() { placement_.look_again(); }

void Engine::flush() {
    guarded([this] { context_.parts.ledger.flush(); });
}

void Engine::interrupt(const std::string& reason, End how) {
    context_.conclude(how, reason);
    wind_up();
}

void Engine::fail(const std::string& reason) {
    context_.conclude(End::failed, reason);
    wind_up();
}

void Engine::kill() {
    interrupt("killed");
    pool_.kill_all();
}

Result<void> Engine::stop_trial(std::int64_t number) {
    const auto last = static_cast<std::int64_t>(context_.parts.ledger.record().trials.size());
    if (number < 1 || number > last)
        return Error{"there is no trial " + std::to_string(number) + "; the last one is " + std::to_string(last)};
    if (const TrialState state = context_.trial(number).state; is_final(state))
        return Error{"trial " + std::to_string(number) + " has ended already: " + std::string(to_text(state))};
    guarded([&] {
        context_.parts.ledger.stop_for_user(number);
        diagnoses_.drop(number);
        pool_.stop_trial(number);
        if (!placement_.holds(number)) ends_.announce(number);
    });
    return {};
}

}  // namespace hpo
