#include "worker/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace hpo {
namespace {

/// Between two looks at the socket, so that many trials do not mean many looks.
constexpr Seconds look_every{100e-6};

/// Before a step, when trials came or went: further ones are waited for until it has been quiet for so long, but not
/// longer than that in all. A trial takes the orchestrator a millisecond or two.
constexpr Seconds quiet{0.02};
constexpr Seconds gathered{0.5};

}  // namespace

Session::Session(Connection& connection, Workshop& workshop, const Clock& clock)
    : connection_(connection),
      workshop_(workshop),
      clock_(clock),
      group_(workshop, [this](const from_worker::Finished& finished) {
          connection_.send(finished);
          slots_.erase(finished.id);
          changed_ = true;
      }) {}

void Session::serve(const std::string& token) {
    from_worker::Hello hello;
    hello.token = token;
    hello.pid = getpid();
    hello.slots = workshop_.slots;
    hello.backend = workshop_.device.backend();
    hello.capabilities = {"plan", "checkpoint", "micro_batch"};
    connection_.send(hello);
    last_alive_ = clock_.now();
    while (!shutdown_) {
        take_in();
        if (workshop_.slots > 1 && std::exchange(changed_, false)) gather();
        if (!group_.empty()) {
            group_.step();
        } else if (auto message = connection_.receive(alive_every_.count())) {
            handle(*std::move(message));
        } else {
            stay_alive("idle");
        }
    }
}

/// Those that wait, in their order, as far as there are slots and their shape is that of the others.
void Session::take_in() {
    while (!waiting_.empty() && group_.size() < workshop_.slots && group_.takes(waiting_.front())) {
        const to_worker::Run run = std::move(waiting_.front());
        waiting_.pop_front();
        const auto [slot, fresh] = slots_.try_emplace(run.id, *this, run.id, run.log);
        if (!fresh) continue;  // said twice
        changed_ = true;
        group_.join(run, slot->second);
    }
}

void Session::gather() {
    const Seconds until = clock_.now() + gathered;
    while (!shutdown_ && group_.size() < workshop_.slots && clock_.now() < until) {
        auto message = connection_.receive(quiet.count());
        if (!message) return;
        handle(*std::move(message));
        take_in();
    }
}

bool Session::Slot::go_on(std::string_view phase) {
    session_.attend(phase);
    return !stop;
}

void Session::Slot::started(std::int64_t from_step) { session_.connection_.send(from_worker::Started{id, from_step}); }

void Session::Slot::report(const Report& report) {
    decided.reset();
    awaited_step = report.step;
    session_.connection_.send(from_worker::Reported{id, report});
}

std::optional<to_worker::Action> Session::Slot::decision() {
    while (!decided && !stop) {
        if (auto message = session_.connection_.receive(session_.alive_every_.count()))
            session_.handle(*std::move(message));
        session_.stay_alive("waiting");
    }
    awaited_step = 0;
    return decided;
}

void Session::Slot::say(const std::string& line) {
    if (session_.workshop_.slots > 1 && !log_.empty()) {
        std::ofstream(log_, std::ios::app) << line << '\n';
    } else {
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
    }
}

void Session::attend(std::string_view phase) {
    const Seconds now = clock_.now();
    if (now - last_look_ < look_every) return;
    last_look_ = now;
    while (auto message = connection_.receive(0)) handle(*std::move(message));
    stay_alive(phase);
}

/// Of the one trial there is, or of the worker as a whole.
void Session::stay_alive(std::string_view phase) {
    const Seconds now = clock_.now();
    if (now - last_alive_ < alive_every_) return;
    last_alive_ = now;
    connection_.send(from_worker::Alive{slots_.size() == 1 ? slots_.begin()->first : AttemptId{}, std::string(phase)});
}

void Session::handle(OrchestratorMessage message) {
    std::visit(Overloaded{
                   [&](const to_worker::Welcome& m) {
                       // Not more often than is any use, nor never.
                       alive_every_ = Seconds(std::clamp(m.alive_every, 0.01, 3600.0));
                   },
                   [&](const to_worker::Plan& m) { connection_.send(answer_plan(m, workshop_)); },
                   [&](to_worker::Run& m) { waiting_.push_back(std::move(m)); },
                   [&](const to_worker::Decision& m) { decide(m); },
                   [&](const to_worker::Stop& m) { stop(m.id); },
                   [&](const to_worker::Shutdown&) {
                       shutdown_ = true;
                       for (auto& [id, slot] : slots_) slot.stop = true;
                   },
               },
               message);
}

Session::Slot* Session::slot(const AttemptId& id) {
    const auto found = slots_.find(id);
    return found == slots_.end() ? nullptr : &found->second;
}

void Session::decide(const to_worker::Decision& decision) {
    Slot* const of = slot(decision.id);
    if (of && decision.step == of->awaited_step && !of->decided)
        of->decided = decision.action;
    else
        std::fprintf(stderr, "ignored a decision on step %lld of trial %lld, attempt %lld\n",
                     static_cast<long long>(decision.step), static_cast<long long>(decision.id.trial),
                     static_cast<long long>(decision.id.attempt));
}

void Session::stop(const AttemptId& id) {
    if (Slot* const of = slot(id)) {
        of->stop = true;
    } else if (std::erase_if(waiting_, [&](const to_worker::Run& run) { return run.id == id; }) > 0) {
        connection_.send(from_worker::Finished{id, Outcome::stopped, {}, {}, {}});
    }
}

}  // namespace hpo
