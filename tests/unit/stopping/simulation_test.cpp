// Whole studies of synthetic learning curves, run as by the engine: the steps that rules save, and the loss in quality.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>

#include "orchestrator/stopping/rules.hpp"
#include "tests/unit/stopping/curves.hpp"

namespace hpo {
namespace {

using to_worker::Action;

struct Call {
    enum class Kind { report, promoted, ended } kind;
    TrialRecord trial;
    Verdict verdict;
};

struct Outcome {
    std::int64_t steps = 0;     ///< trained by all trials together
    std::int64_t complete = 0;  ///< trials trained to the full budget
    double best = 0;
    std::vector<TrialRecord> trials;
    std::vector<Call> calls;
};

/// Trains `workers` trials at once, one step of each in turn. A free worker prefers a promotion to a new trial.
Outcome simulate(const Study& study, std::int64_t trials, std::size_t workers) {
    Rules rules = *Rules::make(study);
    Outcome outcome;
    std::deque<std::int64_t> running;
    for (;;) {
        while (running.size() < workers) {
            const auto started = static_cast<std::int64_t>(outcome.trials.size());
            rules.expect_trials(started < trials);
            if (const auto waiting = rules.promotions(); !waiting.empty()) {
                TrialRecord& trial = outcome.trials[static_cast<std::size_t>(waiting.front()) - 1];
                EXPECT_EQ(trial.state, TrialState::paused);
                trial.state = TrialState::running;
                rules.promoted(trial.number);
                outcome.calls.push_back({Call::Kind::promoted, trial, {}});
                running.push_back(trial.number);
            } else if (started < trials) {
                outcome.trials.push_back(testing_curves::trial(started + 1, {}));
                running.push_back(started + 1);
            } else {
                break;
            }
        }
        if (running.empty()) break;
        TrialRecord& trial = outcome.trials[static_cast<std::size_t>(running.front()) - 1];
        running.pop_front();
        Report report;
        report.step = trial.steps() + 1;
        report.metrics["val_accuracy"] = testing_curves::accuracy(trial.number, report.step);
        outcome.best = std::max(outcome.best, report.metrics["val_accuracy"]);
        trial.curve.push_back(report);
        ++outcome.steps;
        const Verdict verdict = rules.report(trial);
        outcome.calls.push_back({Call::Kind::report, trial, verdict});
        const bool full = trial.steps() == study.budget.epochs;
        if (verdict.action == Action::go_on && !full) {
            running.push_back(trial.number);
        } else if (verdict.action == Action::pause && !full) {
            trial.state = TrialState::paused;
        } else {
            trial.state = full ? TrialState::complete : TrialState::stopped;
            outcome.complete += full ? 1 : 0;
            rules.ended(trial);
            outcome.calls.push_back({Call::Kind::ended, trial, {}});
        }
    }
    for (const TrialRecord& trial : outcome.trials)
        EXPECT_EQ(trial.state == TrialState::paused, !rules.verdict_on_paused(trial.number).empty());
    return outcome;
}

Study phase(std::vector<PartSpec> rules) {
    Study study;
    study.stopping = std::move(rules);
    return study;
}

double best_possible(std::int64_t trials, std::int64_t steps) {
    double best = 0;
    for (std::int64_t n = 1; n <= trials; ++n)
        for (std::int64_t step = 1; step <= steps; ++step) best = std::max(best, testing_curves::accuracy(n, step));
    return best;
}

TEST(Simulation, AshaAndPlateauSaveHalfOfTheEpochsOf64TrialsAndMissLittle) {
    const Outcome outcome =
        simulate(phase({{"plateau", {}}, {"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}}), 64, 2);
    EXPECT_LE(outcome.steps, 64 * 20 / 2);
    EXPECT_GT(outcome.best, best_possible(64, 20) - 0.01);
}

TEST(Simulation, AshaAloneTrainsSomeTrialsToTheEnd) {
    const Outcome outcome = simulate(phase({{"asha", {}}}), 64, 2);
    EXPECT_LE(outcome.steps, 64 * 20 / 2);
    EXPECT_GE(outcome.complete, 1);
    EXPECT_GT(outcome.best, best_possible(64, 20) - 0.01);
}

TEST(Simulation, AStudyOfAnySizeTrainsItsBestTrialToTheFullBudget) {
    for (std::int64_t trials = 1; trials <= 40; ++trials)
        for (const std::size_t workers : {1u, 3u, 8u}) {
            const Outcome outcome = simulate(phase({{"asha", {}}}), trials, workers);
            EXPECT_GE(outcome.complete, 1) << trials << " trials, " << workers << " workers";
            double best_complete = 0;
            for (const TrialRecord& trial : outcome.trials)
                for (const Report& report : trial.curve)
                    if (trial.state == TrialState::complete)
                        best_complete = std::max(best_complete, report.metrics.at("val_accuracy"));
            EXPECT_EQ(best_complete, outcome.best) << trials << " trials, " << workers << " workers";
        }
}

TEST(Simulation, UnderExtrapolationAStudyOfAnySizeTrainsATrialToTheFullBudgetAndMissesLittle) {
    for (std::int64_t trials = 1; trials <= 40; ++trials)
        for (const std::size_t workers : {1u, 3u, 8u}) {
            const Outcome outcome = simulate(phase({{"extrapolation", {}}}), trials, workers);
            EXPECT_GE(outcome.complete, 1) << trials << " trials, " << workers << " workers";
            EXPECT_GT(outcome.best, best_possible(trials, 20) - 0.02) << trials << " trials, " << workers << " workers";
        }
    const Outcome outcome = simulate(phase({{"extrapolation", {}}}), 64, 2);
    EXPECT_LE(outcome.steps, 64 * 20 / 2);
}

TEST(Simulation, HyperbandAndPashaTrainATrialToTheFullBudgetOfAStudyOfAnySizeAndMissLittle) {
    for (const char* rule : {"hyperband", "pasha"}) {
        for (std::int64_t trials = 1; trials <= 40; trials += 3)
            EXPECT_GE(simulate(phase({{rule, {}}}), trials, 3).complete, 1) << rule << ", " << trials << " trials";
        const Outcome outcome = simulate(phase({{rule, {}}}), 64, 2);
        EXPECT_LE(outcome.steps, 64 * 20 / 2) << rule;
        EXPECT_GT(outcome.best, best_possible(64, 20) - 0.02) << rule;
    }
}

TEST(Simulation, AReplayOfAStudyGivesEveryVerdictAgain) {
    for (const Study& study :
         {phase({{"plateau", {}}, {"divergence", {}}, {"median", {}}, {"asha", {}}, {"extrapolation", {}}}),
          phase({{"hyperband", {}}}), phase({{"percentile", {}}, {"pasha", {}}})}) {
        const Outcome outcome = simulate(study, 64, 3);
        Rules replayed = *Rules::make(study);
        for (const Call& call : outcome.calls) {
            if (call.kind == Call::Kind::promoted) replayed.promoted(call.trial.number);
            if (call.kind == Call::Kind::ended) replayed.ended(call.trial);
            if (call.kind != Call::Kind::report) continue;
            const Verdict verdict = replayed.report(call.trial);
            EXPECT_EQ(verdict.action, call.verdict.action);
            EXPECT_EQ(verdict.reason, call.verdict.reason);
        }
    }
}

}  // namespace
}  // namespace hpo
