// The context that the parts of the engine share: the parts from outside, the listeners, and the end of the session.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/engine/outbox.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/scheduling/device_concurrency.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// A line for the user and the log.
struct Notice {
    enum class Level { info, news, warning, error };  ///< news: shown like a warning, without the word
    Level level = Level::info;
    std::int64_t trial = 0;  ///< 0: about the study
    std::string text;
};

/// The start of the search for the number of trials at once, for each device.
struct ConcurrencyPlan {
    ConcurrencyRange workers;                         ///< workers with one slot
    std::map<int, RememberedConcurrency> remembered;  ///< by the index of the device, or host_only
    double cores = 0;                                 ///< cores for the trials; 0: thread times are not read
};

/// The number of trials at once that a session has found for a device.
struct ConcurrencyFinding {
    int device = host_only;
    RememberedConcurrency found;
    std::string workers_text, fused_text;  ///< ConcurrencySearch::text()
};

/// The parts of an engine from outside. All references outlive the engine.
struct EngineParts {
    const Study& study;
    Ledger& ledger;
    Executor& executor;
    const Clock& clock;
    /// Reads the machine. Memory of the process trees of `workers` does not count as used by other programs; that of
    /// `reusable` also counts as free.
    std::function<Machine(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable)> machine;
    /// If set, the constant result of `machine`, which is then not called (simulations).
    const Machine* fixed_machine = nullptr;
    /// Returns the memory of the process tree of each of `workers`, without cores; 0: unknown.
    std::function<std::vector<Footprint>(std::span<const WorkerIndex> workers)> usage;
    /// Returns the times of the threads of a worker and its descendants, if readable.
    std::function<std::optional<ThreadTime>(WorkerIndex worker)> thread_time = {};
    /// Returns the command of a worker, for accelerators of the machine or (`host_only`) for the host.
    std::function<LaunchSpec(WorkerIndex, std::span<const int> devices)> worker;
    /// Return a trial's log file and its folder of checkpoints; empty: none. `make` creates the folder.
    std::function<std::filesystem::path(std::int64_t trial)> log_file;
    std::function<std::filesystem::path(std::int64_t trial, bool make)> checkpoints;
    std::function<void(const Notice&)> notice;
    /// Called when a trial has reached a final state and no worker holds it any more.
    std::function<void(const TrialRecord&)> trial_ended;
    /// If set, a slow sampler proposes on another thread and calls this there when it is done. The callee arranges a
    /// call of Engine::proposal_ready.
    std::function<void()> proposal_ready = {};
    /// Each trial needs an accelerator, or `resources.trial.gpus` of them.
    bool on_device = false;
    /// With `on_device`: a trial may compute on the host instead, if it is predicted to end earlier there.
    bool host_too = false;
    /// The cores that each worker is pinned to; a worker without a trial lends its cores. Empty: no worker is pinned.
    std::vector<std::vector<int>> cores = {};
    /// If set, the number of trials at once is searched by their throughput.
    std::optional<ConcurrencyPlan> concurrency = {};
    /// Calibrations of devices, by their index or `host_only`, where they were measured.
    std::map<int, DeviceCalibration> calibrations = {};
    /// Returns true if a host may still join, so that trials that fit no present host wait. Not set: none may.
    std::function<bool()> awaits_hosts = {};
    Seconds waited{0};  ///< before the engine started, for hosts; counts for the time budget of this session
    /// Returns the name of a host of the machine. Not set where there is one, which needs no name.
    std::function<std::string(int host)> host_name = {};
};

struct EngineContext {
    EngineParts parts;
    Outbox executor{parts.executor};
    SessionEnd end = SessionEnd::none;
    std::string end_reason;

    void say(Notice::Level level, std::int64_t trial, const std::string& text) const {
        if (parts.notice) parts.notice({level, trial, text});
    }
    /// Decides that the session ends. The first reason counts. The engine winds the session up after the current event.
    void conclude(SessionEnd how, const std::string& reason) {
        if (closing()) return;
        end = how;
        end_reason = reason;
    }
    [[nodiscard]] bool closing() const { return end != SessionEnd::none; }

    [[nodiscard]] const TrialRecord& trial(std::int64_t number) const { return parts.ledger.record().trial(number); }
    [[nodiscard]] Seconds now() const { return parts.clock.now(); }
};

}  // namespace hpo
