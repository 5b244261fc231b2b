#include "worker/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "hpo/worker_key_defaults.hpp"
#include "worker/calibration.hpp"
#include "worker/training/plan_answer.hpp"
#include "worker/training/rank_orders.hpp"
#include "worker/trees/tree_plan.hpp"

namespace hpo {
namespace {

/// The time between two polls of the socket, so that many trials do not cause many polls.
constexpr Seconds poll_every{100e-6};

}  // namespace

Patience patience_for_trials(std::optional<Seconds> step) {
    // The orchestrator sends a trial every millisecond or two.
    const Patience most{Seconds(0.02), Seconds(0.5)};
    return step ? Patience{std::min(most.quiet, *step), std::min(most.in_all, *step)} : most;
}

Session::Session(Connection& connection, WorkerContext& context, const Clock& clock)
    : connection_(connection),
      context_(context),
      clock_(clock),
      group_(context, [this](const from_worker::Finished& finished) { end(finished); }),
      trees_(context, [this](const from_worker::Finished& finished) { end(finished); }) {}

void Session::serve(const std::string& token) {
    from_worker::Hello hello;
    hello.token = token;
    hello.pid = getpid();
    hello.slots = context_.slots;
    hello.backend = context_.device.backend();
    hello.capabilities = {"plan", "checkpoint", "micro_batch"};
    if (hello.backend == "cpu") hello.capabilities.emplace_back("cores");
    hello.identity = identity_of(context_.device);
    hello.notes = context_.notes;
    connection_.send(hello);
    last_alive_ = clock_.now();
    while (!shutdown_) {
        start_waiting_trials();
        if (context_.slots > 1 && std::exchange(changed_, false)) collect_trials();
        if (!group_.empty()) {
            const Seconds begin = clock_.now();
            group_.step();
            step_took_ = clock_.now() - begin;
            if (group_.empty()) step_took_.reset();
        } else if (!trees_.empty()) {
            trees_.step();
        } else if (auto message = connection_.receive(alive_every_.count())) {
            handle(*std::move(message));
        } else {
            send_alive_if_due("idle");
        }
    }
}

void Session::end(const from_worker::Finished& finished) {
    connection_.send(finished);
    running_.erase(finished.id);
    changed_ = true;
}

/// A trial of trees runs alone; others share the worker with trials of their fusion key.
bool Session::accepts(const to_worker::Run& run) const {
    if (!trees_.empty()) return false;
    return is_trees(run.params) ? group_.empty() : group_.size() < context_.slots && group_.accepts(run);
}

/// Starts waiting trials in their order, while the next one is accepted.
void Session::start_waiting_trials() {
    while (!waiting_.empty() && accepts(waiting_.front())) {
        const to_worker::Run run = std::move(waiting_.front());
        waiting_.pop_front();
        const auto [entry, is_new] = running_.try_emplace(run.id, *this, run.id, run.log);
        if (!is_new) continue;  // the orchestrator sent it twice
        changed_ = true;
        if (is_trees(run.params)) {
            trees_.add(run, entry->second);
        } else {
            trees_.clear();
            group_.add(run, entry->second);
        }
    }
}

void Session::collect_trials() {
    const Patience patience = patience_for_trials(step_took_);
    const Seconds until = clock_.now() + patience.in_all;
    while (!shutdown_ && group_.size() < context_.slots && clock_.now() < until) {
        auto message = connection_.receive(patience.quiet.count());
        if (!message) return;
        handle(*std::move(message));
        start_waiting_trials();
    }
}

bool Session::RunningTrial::should_continue(std::string_view phase) {
    session_.poll(phase);
    return !stop;
}

void Session::RunningTrial::started(std::int64_t from_step, const std::string& data) {
    session_.connection_.send(from_worker::Started{id, from_step, data});
}

void Session::RunningTrial::report(const Report& report) {
    decided.reset();
    awaited_step = report.step;
    session_.connection_.send(from_worker::Reported{id, report});
}

std::optional<to_worker::Action> Session::RunningTrial::decision() {
    while (!decided && !stop) {
        if (auto message = session_.connection_.receive(session_.alive_every_.count()))
            session_.handle(*std::move(message));
        session_.send_alive_if_due("waiting");
    }
    awaited_step = 0;
    return decided;
}

void Session::RunningTrial::log(const std::string& line) {
    if (session_.context_.slots > 1 && !log_file_.empty()) {
        std::ofstream(log_file_, std::ios::app) << line << '\n';
    } else {
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
    }
}

void Session::poll(std::string_view phase) {
    const Seconds now = clock_.now();
    if (now - last_poll_ < poll_every) return;
    last_poll_ = now;
    while (auto message = connection_.receive(0)) handle(*std::move(message));
    send_alive_if_due(phase);
}

/// Speaks for the trial if there is exactly one, and for the worker as a whole otherwise.
void Session::send_alive_if_due(std::string_view phase) {
    const Seconds now = clock_.now();
    if (now - last_alive_ < alive_every_) return;
    last_alive_ = now;
    connection_.send(
        from_worker::Alive{running_.size() == 1 ? running_.begin()->first : AttemptId{}, std::string(phase)});
}

void Session::handle(OrchestratorMessage message) {
    std::visit(Overloaded{
                   [&](const to_worker::Welcome& m) {
                       // The interval has limits, so that a wrong value neither floods nor silences the connection.
                       alive_every_ = Seconds(std::clamp(m.alive_every, 0.01, 3600.0));
                   },
                   [&](const to_worker::Plan& m) {
                       connection_.send(is_trees(m.params) ? answer_tree_plan(m, context_) : answer_plan(m, context_));
                   },
                   [&](to_worker::Run& m) { waiting_.push_back(std::move(m)); },
                   [&](const to_worker::Decision& m) { decide(m); },
                   [&](const to_worker::Stop& m) { stop(m.id); },
                   [&](const to_worker::Cores& m) {
                       context_.cores.assign(m.cores.begin(), m.cores.end());
                       if (context_.ranks)
                           context_.ranks->use_cores(context_.device, context_.cores);
                       else
                           context_.device.use_cores(context_.cores);
                   },
                   [&](const to_worker::Shutdown&) {
                       shutdown_ = true;
                       for (auto& [id, trial] : running_) trial.stop = true;
                   },
               },
               message);
}

Session::RunningTrial* Session::find_running(const AttemptId& id) {
    const auto found = running_.find(id);
    return found == running_.end() ? nullptr : &found->second;
}

void Session::decide(const to_worker::Decision& decision) {
    RunningTrial* const trial = find_running(decision.id);
    if (trial && decision.step == trial->awaited_step && !trial->decided)
        trial->decided = decision.action;
    else
        std::fprintf(stderr, "ignored a decision on step %lld of trial %lld, attempt %lld\n",
                     static_cast<long long>(decision.step), static_cast<long long>(decision.id.trial),
                     static_cast<long long>(decision.id.attempt));
}

void Session::stop(const AttemptId& id) {
    if (RunningTrial* const trial = find_running(id)) {
        trial->stop = true;
    } else if (std::erase_if(waiting_, [&](const to_worker::Run& run) { return run.id == id; }) > 0) {
        connection_.send(from_worker::Finished{id, Outcome::stopped, {}, {}, {}});
    }
}

}  // namespace hpo
