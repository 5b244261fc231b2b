#include "worker/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace hpo {

Session::Session(Connection& connection, Workshop& workshop, const Clock& clock)
    : connection_(connection), workshop_(workshop), clock_(clock) {}

void Session::serve(const std::string& token) {
    from_worker::Hello hello;
    hello.token = token;
    hello.pid = getpid();
    hello.backend = workshop_.device.backend();
    hello.capabilities = {"plan", "checkpoint", "micro_batch"};
    connection_.send(hello);
    last_alive_ = clock_.now();
    while (!shutdown_) {
        if (!waiting_.empty()) {
            const to_worker::Run run = std::move(waiting_.front());
            waiting_.pop_front();
            current_ = run.id;
            stop_ = false;
            connection_.send(run_trial(run, workshop_, *this));
            current_ = {};
        } else if (auto message = connection_.receive(alive_every_.count())) {
            handle(*std::move(message));
        }
        if (waiting_.empty()) stay_alive("idle");
    }
}

bool Session::go_on(std::string_view phase) {
    while (auto message = connection_.receive(0)) handle(*std::move(message));
    stay_alive(phase);
    return !stop_;
}

void Session::started(std::int64_t from_step) { connection_.send(from_worker::Started{current_, from_step}); }

std::optional<to_worker::Action> Session::report(const Report& report) {
    decision_.reset();
    awaited_step_ = report.step;
    connection_.send(from_worker::Reported{current_, report});
    while (!decision_ && !stop_) {
        if (auto message = connection_.receive(alive_every_.count())) handle(*std::move(message));
        stay_alive("waiting");
    }
    awaited_step_ = 0;
    return decision_;
}

void Session::say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void Session::stay_alive(std::string_view phase) {
    const Seconds now = clock_.now();
    if (now - last_alive_ < alive_every_) return;
    last_alive_ = now;
    connection_.send(from_worker::Alive{current_, std::string(phase)});
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
                   [&](const to_worker::Shutdown&) { shutdown_ = stop_ = true; },
               },
               message);
}

void Session::decide(const to_worker::Decision& decision) {
    if (decision.id == current_ && decision.step == awaited_step_ && !decision_)
        decision_ = decision.action;
    else
        std::fprintf(stderr, "ignored a decision on step %lld of trial %lld, attempt %lld\n",
                     static_cast<long long>(decision.step), static_cast<long long>(decision.id.trial),
                     static_cast<long long>(decision.id.attempt));
}

void Session::stop(const AttemptId& id) {
    if (id == current_) {
        stop_ = true;
    } else if (std::erase_if(waiting_, [&](const to_worker::Run& run) { return run.id == id; }) > 0) {
        connection_.send(from_worker::Finished{id, Outcome::stopped, {}, {}, {}});
    }
}

}  // namespace hpo
