#include "orchestrator/simulation/simulate.hpp"

#include <optional>

#include "hpo/standing.hpp"
#include "orchestrator/engine/engine.hpp"
#include "orchestrator/simulation/simulated_executor.hpp"

namespace hpo {

namespace {

/// Keeps nothing, and gives events the time of the virtual clock.
class SimulatedStore final : public Store {
   public:
    explicit SimulatedStore(const Clock& clock) : clock_(clock) {}
    [[nodiscard]] std::string source() const override { return {}; }
    Result<void> set_source(const std::string&) override { return {}; }
    [[nodiscard]] Result<std::vector<StoredEvent>> events(std::int64_t, std::size_t) const override {
        return std::vector<StoredEvent>();
    }
    Result<StoredEvent> append(const Event& event) override {
        return StoredEvent{++sequence_, clock_.now().count(), event};
    }

   private:
    const Clock& clock_;
    std::int64_t sequence_ = 0;
};

SimulatedEnd summary_of(const StudyRecord& record, const Objective& objective) {
    SimulatedEnd end;
    end.trials = static_cast<std::int64_t>(record.trials.size());
    for (const TrialRecord& trial : record.trials) {
        end.complete += trial.state == TrialState::complete ? 1 : 0;
        end.stopped += trial.state == TrialState::stopped ? 1 : 0;
        end.diverged += trial.state == TrialState::diverged ? 1 : 0;
        end.failed += trial.state == TrialState::failed ? 1 : 0;
    }
    if (const TrialRecord* best = best_trial(record, objective); best && best->value) {
        end.best = *best->value;
        end.has_best = true;
    }
    return end;
}

}  // namespace

Result<SimulatedEnd> simulate(const Study& study, const std::vector<PriorStudy>& priors,
                              const SimulatedMachine& machine, const Workload& workload,
                              const std::function<void(const StoredEvent&)>& on_event) {
    auto proposer = Proposer::make(study, priors);
    if (!proposer) return proposer.error();
    auto rules = Rules::make(study);
    if (!rules) return rules.error();
    VirtualClock clock;
    SimulatedStore store(clock);
    Ledger ledger(study, store, std::move(*proposer), std::move(*rules));
    if (const auto replayed = ledger.replay(); !replayed) return replayed.error();
    ledger.on_event = on_event;
    ledger.forget_ended();
    ledger.session_started({"simulated", 0, ""});
    SimulatedExecutor executor(machine, workload, ledger, clock);
    std::string last_error;
    Engine engine({.study = study,
                   .ledger = ledger,
                   .executor = executor,
                   .clock = clock,
                   .machine = [&](auto, auto) { return machine.machine; },
                   .fixed_machine = &machine.machine,
                   .usage = {},
                   .worker =
                       [&](WorkerIndex index, std::span<const int> devices) {
                           executor.place(index, devices);
                           return LaunchSpec{};
                       },
                   .log_file = [](std::int64_t) { return std::filesystem::path(); },
                   .checkpoints = [](std::int64_t, bool) { return std::filesystem::path(); },
                   .notice =
                       [&](const Notice& notice) {
                           if (notice.level == Notice::Level::error && last_error.empty()) last_error = notice.text;
                       },
                   .trial_ended = {},
                   .on_device = !machine.machine.accelerators.empty()},
                  machine.workers);
    std::int64_t rounds = 0;
    const auto end_round = [&] {
        do engine.end_round();
        while (engine.has_more());
        ++rounds;
    };
    engine.start();
    end_round();
    while (!engine.done()) {
        const auto next = executor.next();
        const auto budget = study.budget.seconds;
        if (budget && (!next || *next > *budget) && clock.now().count() < *budget) {
            clock.set(*budget);
            engine.tick();
            end_round();
            continue;
        }
        if (!next) return Error{"the simulated study is stuck: a trial waits for resources that no worker will free"};
        clock.set(*next);
        executor.deliver([&](WorkerIndex index, const execution::Event& event) { engine.on(index, event); });
        end_round();
    }
    if (engine.end() == SessionEnd::failed)
        return Error{engine.end_reason() + (last_error.empty() ? "" : ": " + last_error)};
    if (on_event) ledger.session_ended({clock.now().count(), engine.end_reason(), engine.end()});
    SimulatedEnd end = summary_of(ledger.record(), study.objective);
    end.seconds = clock.now().count();
    end.busy = executor.busy();
    end.steps = executor.steps();
    end.most_at_once = executor.most_at_once();
    end.decisions = rounds;
    end.reason = engine.end_reason();
    return end;
}

}  // namespace hpo
