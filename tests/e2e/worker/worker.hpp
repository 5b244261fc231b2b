// Small trials, and a worker that has completed the handshake.
#pragma once

#include <gtest/gtest.h>

#include "tests/e2e/worker/worker_process.hpp"

namespace hpo::test {

inline Params params(const Params& changes = {}) {
    Params all{{"format", std::string("synthetic")},
               {"samples", std::int64_t{1000}},
               {"features", std::int64_t{20}},
               {"classes", std::int64_t{5}},
               {"noise", 1.0},
               {"hidden", std::vector<std::int64_t>{24, 16}},
               {"dropout", 0.1},
               {"batch_size", std::int64_t{64}},
               {"lr", 0.01}};
    for (const auto& [name, value] : changes) all[name] = value;
    return all;
}

/// Returns a trial that only a stop ends.
inline Params endless() { return params({{"eval_every", std::int64_t{1'000'000'000}}}); }

inline to_worker::Run run_of(std::int64_t trial, std::int64_t steps, const Params& of = params()) {
    to_worker::Run run;
    run.id = {trial, 1};
    run.params = of;
    run.steps = steps;
    run.seed = 77;
    run.data_seed = 5;
    return run;
}

/// A worker that has completed the handshake.
struct Worker : WorkerProcess {
    explicit Worker(double alive_every = 5, const std::vector<std::string>& arguments = {},
                    const std::vector<std::string>& variables = {})
        : WorkerProcess(arguments, {}, variables) {
        accept();
        hello = expect<from_worker::Hello>();
        send(to_worker::Welcome{protocol_version, alive_every});
    }

    /// Answers each report with `action_at(step)` until the trial is finished.
    template <class F>
    from_worker::Finished follow(const AttemptId& id, F&& action_at) {
        reports.clear();
        while (true) {
            WorkerMessage message = receive();
            if (auto* report = std::get_if<from_worker::Reported>(&message)) {
                EXPECT_EQ(report->id, id);
                reports.push_back(report->report);
                send(to_worker::Decision{id, report->report.step, action_at(report->report.step)});
            } else if (auto* finished = std::get_if<from_worker::Finished>(&message)) {
                EXPECT_EQ(finished->id, id);
                return *finished;
            } else if (auto* started = std::get_if<from_worker::Started>(&message)) {
                from_step = started->from_step;
            }
        }
    }
    from_worker::Finished complete(const to_worker::Run& run) {
        send(run);
        return follow(run.id, [](std::int64_t) { return to_worker::Action::go_on; });
    }

    from_worker::Hello hello;
    std::vector<Report> reports;
    std::int64_t from_step = -1;
};

}  // namespace hpo::test
