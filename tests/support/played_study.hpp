// Simulates whole studies as the engine would run them. Trials have random curves and speeds, and the study's rules
// judge them. The result is the study's events.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/random.hpp"
#include "orchestrator/stopping/rules.hpp"

namespace hpo::testing {

struct PlayedStudy {
    Study study;
    std::vector<StoredEvent> events;  ///< from time 0 on
};

struct PlayOptions {
    std::size_t workers = 2;
    bool from_start = false;  ///< trials repeat their steps after a pause, like scripts without a checkpoint
    double start = 0.3;       ///< seconds until a worker starts a trial
    std::uint64_t seed = 3;
};

/// Returns the val_accuracy of a step. It approaches a ceiling between 0.70 and 0.90 at a random speed, with noise.
inline double drawn_accuracy(std::uint64_t seed, std::int64_t trial, std::int64_t step) {
    const auto n = static_cast<std::uint64_t>(trial);
    const double ceiling = 0.70 + 0.20 * draw_unit(seed, Purpose::synthetic, n, 0);
    const double pace = 1 + 2 * draw_unit(seed, Purpose::synthetic, n, 1);
    const double noise = draw_unit(seed, Purpose::synthetic, n, 100 + static_cast<std::uint64_t>(step)) - 0.5;
    return ceiling - (ceiling - 0.1) * std::exp(-static_cast<double>(step) / pace) + 0.006 * noise;
}

/// Returns the seconds of a step, between 0.2 and 1.8. Better trials take longer.
inline double drawn_pace(std::uint64_t seed, std::int64_t trial) {
    const auto n = static_cast<std::uint64_t>(trial);
    return 0.2 + 0.6 * draw_unit(seed, Purpose::synthetic, n, 0) + draw_unit(seed, Purpose::synthetic, n, 2);
}

inline PlayedStudy play_study(const Study& study, const PlayOptions& options = {}) {
    PlayedStudy played{study, {}};
    Rules rules = *Rules::make(study);
    StudyRecord record;
    double now = 0;
    const auto happens = [&](const Event& event) {
        played.events.push_back({static_cast<std::int64_t>(played.events.size()) + 1, now, event});
        apply(record, played.events.back(), study.objective);
    };
    struct PlayedWorker {
        std::int64_t trial = 0;  ///< 0 if it is free
        std::int64_t step = 0;   ///< the current step
        double done = 0;         ///< time at which the step is done
    };
    std::vector<PlayedWorker> workers(options.workers);
    happens(event::SessionStarted{"host", 1, ""});
    const auto launch = [&](PlayedWorker& worker, std::int64_t trial) {
        const std::int64_t from = options.from_start ? 0 : record.trial(trial).steps();
        happens(event::Launched{trial, record.trial(trial).attempt + 1, "cpu 0", {}});
        worker = {trial, from + 1, now + options.start + drawn_pace(options.seed, trial)};
    };
    for (;;) {
        for (PlayedWorker& worker : workers) {
            if (worker.trial) continue;
            const auto started = static_cast<std::int64_t>(record.trials.size());
            rules.expect_trials(started < study.budget.trials);
            if (const auto waiting = rules.promotions(); !waiting.empty()) {
                rules.promoted(waiting.front());
                happens(event::Requeued{waiting.front(), record.trial(waiting.front()).attempt, Outcome::paused, false,
                                        "promoted"});
                launch(worker, waiting.front());
            } else if (started < study.budget.trials) {
                happens(event::Proposed{started + 1, {}, {}});
                launch(worker, started + 1);
            }
        }
        PlayedWorker* next = nullptr;
        for (PlayedWorker& worker : workers)
            if (worker.trial && (!next || worker.done < next->done)) next = &worker;
        if (!next) break;
        now = next->done;
        Report report;
        report.step = next->step;
        report.metrics["val_accuracy"] = drawn_accuracy(options.seed, next->trial, next->step);
        report.seconds = drawn_pace(options.seed, next->trial) * static_cast<double>(next->step);
        const TrialRecord& trial = record.trial(next->trial);
        happens(event::Reported{next->trial, trial.attempt, report});
        const Verdict verdict = rules.report(trial);
        const bool full = next->step == study.budget.epochs;
        if (full || verdict.action == to_worker::Action::stop) {
            happens(event::Finished{next->trial, trial.attempt, full ? TrialState::complete : TrialState::stopped,
                                    verdict.rule, verdict.reason});
            rules.ended(trial);
            *next = {};
        } else if (verdict.action == to_worker::Action::pause) {
            happens(event::Paused{next->trial, trial.attempt, verdict.rule, verdict.reason});
            *next = {};
        } else {
            ++next->step;
            next->done = now + drawn_pace(options.seed, next->trial);
        }
    }
    return played;
}

}  // namespace hpo::testing
