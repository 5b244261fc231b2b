// The engine with fake workers. It needs no processes and no disk, and the test advances the clock.
#pragma once

#include <gmock/gmock.h>

#include <map>

#include "orchestrator/engine/engine.hpp"
#include "tests/support/bytes.hpp"
#include "tests/support/memory_store.hpp"
#include "tests/support/played_executor.hpp"

namespace hpo::testing {

/// Returns a study of a script with three trials of two steps, which need little memory.
inline Study small_study() {
    Study study;
    study.name = "small";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x"}};
    study.worker = ScriptWorker{.command = {"played"}};
    study.budget.trials = 3;
    study.budget.epochs = 2;
    study.sampler.type = "random";
    study.policy.scaled = false;
    study.resources.trial.host_bytes = 1 << 20;
    return study;
}

/// Returns a machine with `count` devices of 8 GiB.
inline Machine with_devices(int count) {
    Machine machine{.hosts = {{.cores = 64, .memory = 64 * GiB}}};
    for (int i = 0; i < count; ++i)
        machine.accelerators.push_back({.id = "GPU-" + std::to_string(i), .memory = 8 * GiB});
    return machine;
}

/// Returns a machine of 64 cores and 1 GiB without devices.
inline Machine small_machine() { return {.hosts = {{.cores = 64, .memory = 1 << 30}}}; }

/// The parts of EngineParts that few tests set.
struct PlayedParts {
    std::function<void()> proposal_ready = {};
    std::optional<ConcurrencyPlan> concurrency = {};
    std::map<int, DeviceCalibration> calibrations = {};
    bool host_too = false;
    std::vector<std::vector<int>> cores = {};
};

/// One session of an engine on a store, which may outlive the session.
class Played {
   public:
    Played(const Study& study, MemoryStore& store, int workers, Machine at_start = small_machine(),
           PlayedParts parts = {})
        : machine(std::move(at_start)),
          study_(study),
          ledger_(study_, store, *Proposer::make(study_), *Rules::make(study_)) {
        EXPECT_TRUE(ledger_.replay());
        ledger_.on_event = [this](const StoredEvent& stored) { events.push_back(stored); };
        ledger_.on_end_with_study = [this](const StoredEvent&) { ++ended_with_study; };
        ledger_.session_started({"host", 1, "test"});
        engine.emplace(EngineParts{.study = study_,
                                   .ledger = ledger_,
                                   .executor = executor,
                                   .clock = clock,
                                   .machine = [this](auto, auto) { return ++readings, machine; },
                                   .usage = [this](auto measured) { return used(measured); },
                                   .worker =
                                       [this](WorkerIndex, auto devices) {
                                           started_on.emplace_back(devices.begin(), devices.end());
                                           return LaunchSpec{};
                                       },
                                   .log_file = [](std::int64_t) { return ""; },
                                   .checkpoints =
                                       [this](std::int64_t trial, bool make) {
                                           if (make) folders_made.push_back(trial);
                                           return "";
                                       },
                                   .notice =
                                       [this](const Notice& notice) {
                                           notices += notice.text + '\n';
                                           if (notice.level == Notice::Level::warning) warnings += notice.text + '\n';
                                       },
                                   .trial_ended = [this](const TrialRecord& trial) { ended.push_back(trial.number); },
                                   .proposal_ready = std::move(parts.proposal_ready),
                                   .on_device = !machine.accelerators.empty(),
                                   .host_too = parts.host_too,
                                   .cores = std::move(parts.cores),
                                   .concurrency = std::move(parts.concurrency),
                                   .calibrations = std::move(parts.calibrations)},
                       workers);
        engine->start();
        engine->end_round();
    }

    void ready(WorkerIndex index, std::vector<std::string> capabilities = {}, std::int64_t slots = 1,
               std::string identity = {}) {
        on(index, execution::Ready{{.pid = 100 + index,
                                    .slots = slots,
                                    .capabilities = std::move(capabilities),
                                    .identity = std::move(identity)}});
    }
    void say(WorkerIndex index, WorkerMessage message) { on(index, execution::Received{std::move(message)}); }
    void exit(WorkerIndex index, int signal, int code = 0) {
        on(index, execution::Exited{code, signal, false, "last words", 0});
    }
    /// Runs a round with one event.
    void on(WorkerIndex index, const execution::Event& event) {
        engine->on(index, event);
        engine->end_round();
    }
    /// Runs a round in which the user stops a trial.
    Result<void> stop_trial(std::int64_t trial) {
        auto stopped = engine->stop_trial(trial);
        engine->end_round();
        return stopped;
    }

    /// Takes and returns the attempt that the worker was asked to run, with trial 0 if there is none.
    AttemptId asked(WorkerIndex index) {
        const auto run = executor.take<to_worker::Run>(index);
        return run ? run->id : AttemptId{};
    }
    to_worker::Action report(WorkerIndex index, AttemptId id, std::int64_t step, double loss) {
        say(index, from_worker::Reported{id, {.step = step, .metrics = {{"loss", loss}}}});
        const auto decision = executor.take<to_worker::Decision>(index);
        EXPECT_TRUE(decision) << "no decision for step " << step;
        return decision ? decision->action : to_worker::Action::stop;
    }
    void tick(Seconds passed = Seconds(1)) {
        clock.advance(passed);
        engine->tick();
        engine->end_round();
    }
    void finish(WorkerIndex index, AttemptId id, Outcome outcome = Outcome::complete, std::string message = {}) {
        say(index, from_worker::Finished{id, outcome, std::move(message), {}, {}});
    }
    void complete(WorkerIndex index, AttemptId id) {
        report(index, id, 1, 0.5);
        report(index, id, 2, 0.4);
        finish(index, id);
    }
    void end_session(double seconds) { ledger_.session_ended({seconds, "over"}); }
    const TrialRecord& trial(std::int64_t number) const { return ledger_.record().trial(number); }
    const StudyRecord& record() const { return ledger_.record(); }
    StudyRecord stored_record() const { return ledger_.stored_record(); }

    Machine machine;
    int readings = 0;                        ///< of the machine
    std::map<WorkerIndex, Footprint> holds;  ///< measured memory of the workers
    PlayedExecutor executor;
    ManualClock clock;
    std::optional<Engine> engine;
    std::string notices, warnings;             ///< warnings are notices, too
    std::vector<StoredEvent> events;           ///< passed to the ledger's on_event
    std::size_t ended_with_study = 0;          ///< number of calls of the ledger's on_end_with_study
    std::vector<std::int64_t> ended;           ///< trials passed to trial_ended
    std::vector<std::int64_t> folders_made;    ///< trials with a new folder for checkpoints
    std::vector<std::vector<int>> started_on;  ///< the devices of each worker

   private:
    std::vector<Footprint> used(std::span<const WorkerIndex> workers) {
        std::vector<Footprint> all;
        for (const WorkerIndex worker : workers) all.push_back(holds[worker]);
        return all;
    }

    Study study_;
    Ledger ledger_;
};

/// A fixture for sessions on one store. The study is the small one unless the test changes it.
class OneStore : public ::testing::Test {
   protected:
    MemoryStore store;
    Study study = small_study();
};

/// A fixture with a session whose only worker is ready.
class ReadyWorker : public OneStore {
   protected:
    ReadyWorker() { play.ready(0); }
    Played play{study, store, 1};
};

/// A fixture whose worker has been asked to run the first trial.
class BegunTrial : public ReadyWorker {
   protected:
    const AttemptId id = play.asked(0);
};

}  // namespace hpo::testing
