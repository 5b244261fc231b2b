// What the parts of the engine share: what they are given from outside, whom they notify, and how the session ends.
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

/// Something worth a line for a person or a log.
struct Notice {
    enum class Level { info, warning, error };
    Level level = Level::info;
    std::int64_t trial = 0;  ///< 0: of the study
    std::string text;
};

/// Where the search for the number of trials at once begins on each device.
struct ConcurrencyPlan {
    ConcurrencyRange workers;                         ///< workers with one slot
    std::map<int, RememberedConcurrency> remembered;  ///< by the index of the device, or host_only
    double cores = 0;                                 ///< that the trials may use; 0: thread times are not read
};

/// What a session has found about a device.
struct ConcurrencyFinding {
    int device = host_only;
    RememberedConcurrency found;
    std::string workers_text, fused_text;  ///< ConcurrencySearch::text()
};

/// What the engine is given. All references outlive it.
struct EngineParts {
    const Study& study;
    Ledger& ledger;
    Executor& executor;
    const Clock& clock;
    /// What the machine has at this moment. Memory held by the process trees of `workers` (pids) is not others' use;
    /// that of `reusable` (0: none) is free besides.
    std::function<Machine(std::span<const std::int64_t> workers, std::int64_t reusable)> machine;
    /// Given: what `machine` always returns, so that it need not be read (simulations).
    const Machine* fixed_machine = nullptr;
    /// The memory that the process trees of `workers` hold at this moment, one by one (cores aside); 0: not known.
    std::function<std::vector<Footprint>(std::span<const std::int64_t> workers)> usage;
    /// The times of the threads of a worker (its pid) and its descendants, if they can be read.
    std::function<std::optional<ThreadTime>(std::int64_t worker)> thread_time = {};
    /// How a worker of this index is started, on accelerators of the machine or (`host_only`) on the host alone.
    std::function<LaunchSpec(WorkerIndex, std::span<const int> devices)> worker;
    /// Where a trial's log and its checkpoints lie; empty: nowhere. With `make`, the folder for checkpoints is made.
    std::function<std::filesystem::path(std::int64_t trial)> log_file;
    std::function<std::filesystem::path(std::int64_t trial, bool make)> checkpoints;
    std::function<void(const Notice&)> notice;
    /// A trial has reached a final state, and no worker holds it any more.
    std::function<void(const TrialRecord&)> trial_ended;
    /// Given: where the sampler is slow it proposes on another thread, and this is called from there when it has done
    /// so, so that Engine::proposal_ready is called soon.
    std::function<void()> proposal_ready = {};
    /// Trials need an accelerator each, or as many as `resources.trial.gpus` asks for.
    bool on_device = false;
    /// With `on_device`: each trial may compute on the host instead, if it is predicted to end first there.
    bool host_too = false;
    /// The cores of each worker, to which it is bound; those of workers without a trial are lent to others. Empty: none
    /// is bound.
    std::vector<std::vector<int>> cores = {};
    /// Given: the number of trials at once is searched by their throughput.
    std::optional<ConcurrencyPlan> concurrency = {};
    /// What devices can do, by their index or `host_only`, as far as it was measured.
    std::map<int, DeviceCalibration> calibrations = {};
};

/// How a session ends.
enum class SessionEnd { none, finished, interrupted, failed };

struct EngineContext {
    EngineParts parts;
    Outbox executor{parts.executor};
    SessionEnd end = SessionEnd::none;
    std::string end_reason;

    void say(Notice::Level level, std::int64_t trial, const std::string& text) const {
        if (parts.notice) parts.notice({level, trial, text});
    }
    /// The session is to end. The first reason counts; the engine winds the session up as soon as the event at hand has
    /// been dealt with.
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
