// Handles workers that end early, with the consequences for their trials.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/engine/attempts.hpp"
#include "orchestrator/engine/device_failures.hpp"
#include "orchestrator/engine/launch_failures.hpp"

namespace hpo {

class WorkerEnds {
   public:
    /// All references outlive the object.
    struct Uses {
        EngineContext& context;
        WorkerPool& pool;
        const MachineView& machine;
        const DeviceHealth& health;
        DeviceFailures& devices;
        LaunchFailures& launches;
        RequirementsTable& requirements;
        TrialEnds& ends;
        MemoryFailures& memory;
        PendingDiagnoses& diagnoses;
        Attempts& attempts;
    };
    explicit WorkerEnds(const Uses& uses) : uses_(uses) {}

    void exited(WorkerIndex index, const execution::Exited& exited);
    void launch_failed(WorkerIndex index, const execution::LaunchFailed& failed);
    /// Ends the attempts whose cause is known by now. Workers that died shortly before the loss of their device was
    /// noticed are not to blame, nor are trials for memory that other programs took.
    void diagnose_pending();

   private:
    /// A worker that has exited, with the facts of its end.
    struct End {
        Worker worker;
        const execution::Exited& exited;
        std::string cause{};         ///< why the session ended it; empty: it ended by itself
        std::string how{};           ///< the cause, or how it ended by itself
        std::string reason{};        ///< `how` with the last lines of its output
        std::vector<Job> held{};     ///< attempts that end because the worker does
        bool device_failed = false;  ///< its exit status reports a failed device
        bool memory_kill = false;    ///< the kernel killed it or a descendant because memory ran out

        [[nodiscard]] bool on_device() const { return !is_host(worker.device); }
        [[nodiscard]] bool by_itself() const { return worker.state == Worker::State::ready; }
    };
    void ended_before_hello(const End& end);
    void release_ended_trials(End& end);
    [[nodiscard]] AttemptId charged_by(const End& end) const;
    void queue_uncharged(const End& end, AttemptId charged);
    void charge(const End& end, AttemptId charged);
    void start_failed(const std::string& message);
    void ran_short(const std::string& message);
    bool died_together(const PendingDiagnosis& first);
    void settle(const PendingDiagnosis& diagnosis, bool device_lost);

    Uses uses_;
};

}  // namespace hpo
