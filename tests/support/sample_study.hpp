// A study whose events give it trials in every state, for tests of views.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "hpo/event.hpp"
#include "hpo/random.hpp"
#include "hpo/study.hpp"

namespace hpo::testing {

inline constexpr const char* sample_yaml = R"(study: sample
seed: 7
objective: {metric: val_accuracy, direction: maximize, at: best}
space:
  batch_size: {type: int, low: 256, high: 4096, log: true}
  lr: {type: float, low: 3.0e-4, high: 3.0e-2, log: true}
  activation: {type: categorical, choices: [relu, gelu]}
worker:
  task: classification
  data: {format: synthetic}
  model: {type: mlp, width: 64, depth: 2}
budget: {trials: 16, epochs: 10}
stopping: [{rule: plateau, patience: 3}]
)";

/// Calls `append(Event)` for each event of a study with `trials` trials. All but the last four have ended: of every
/// eight, four are complete, one was stopped by a rule, one diverged, one failed and one was stopped by the user. The
/// last four are a paused one, two running ones and a queued one. Values increase with the trial's number.
template <class Append>
void make_sample_events(std::int64_t trials, Append&& append) {
    append(Event{event::SessionStarted{"host", 4711, "0.1.0"}});
    const auto params = [](std::int64_t n) {
        return Params{{"batch_size", std::int64_t{256} << (n % 5)},
                      {"lr", 0.001 * static_cast<double>(n % 7 + 1)},
                      {"activation", std::string(n % 2 ? "relu" : "gelu")}};
    };
    for (std::int64_t n = 1; n <= trials; ++n) append(Event{event::Proposed{n, {0.5, 0.5, 0.25}, params(n)}});
    const auto report = [&](std::int64_t n, std::int64_t step) {
        event::Reported e{n, 1, {}};
        const double unit =
            draw_unit(1, Purpose::synthetic, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(step));
        e.report.step = step;
        e.report.metrics = {{"loss", 2.0 / static_cast<double>(step) + 0.1 * unit},
                            {"val_accuracy", 0.9 - 0.4 / static_cast<double>(step) +
                                                 0.05 * static_cast<double>(n) / static_cast<double>(trials)}};
        e.report.iteration = 195 * step;
        e.report.seconds = 1.5 * static_cast<double>(step);
        e.report.iterations_per_second = 120.0 + unit;
        e.report.iterations_per_second_overall = 121.5;
        e.report.samples_per_second_overall = 31104;
        e.report.peak_bytes = std::int64_t{93} << 20;
        return e;
    };
    for (std::int64_t n = 1; n <= trials; ++n) {
        if (n == trials) break;  // queued
        append(Event{event::Launched{n, 1, "cpu " + std::to_string(n % 2)}});
        const bool unfinished = n > trials - 4;
        const auto kind = n % 8;
        const std::int64_t steps = unfinished ? n % 4 + 1 : kind < 5 && kind != 1 ? 10 : 4;
        for (std::int64_t step = 1; step <= steps; ++step) {
            auto e = report(n, step);
            if (!unfinished && kind == 5 && step == steps) e.report.metrics = {{"loss", std::nan("")}};
            append(Event{std::move(e)});
        }
        if (unfinished) {
            if (n == trials - 3) append(Event{event::Paused{n, 1, "asha", "rung 1: waits"}});
            continue;
        }
        if (kind == 1)
            append(Event{event::Finished{n, 1, TrialState::stopped, "plateau", "no better than 0.8 for 3 steps"}});
        else if (kind == 5)
            append(Event{event::Finished{n, 1, TrialState::diverged, "", "loss is nan at step 4"}});
        else if (kind == 6)
            append(
                Event{event::Finished{n, 1, TrialState::failed, "", "killed by SIGSEGV:\n\x1b[31mlast words\x1b[0m"}});
        else if (kind == 7)
            append(Event{event::Finished{n, 1, TrialState::stopped, "user", "stopped by hpo stop"}});
        else
            append(Event{event::Finished{n, 1, TrialState::complete, "", ""}});
    }
}

}  // namespace hpo::testing
