// How trials start: what they need is found out, placement (scheduling/placement.hpp) decides, and workers are
// launched, given trials, or released.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/engine/attempts.hpp"
#include "orchestrator/engine/backend_chooser.hpp"
#include "orchestrator/engine/launch_failures.hpp"
#include "orchestrator/engine/supply.hpp"
#include "orchestrator/engine/throughput.hpp"
#include "orchestrator/scheduling/placement.hpp"

namespace hpo {

class TrialStarts {
   public:
    /// All references outlive it.
    struct Uses {
        EngineContext& context;
        Placement& placement;
        WorkerPool& pool;
        const MachineView& machine;
        DeviceHealth& health;
        LaunchFailures& launches;
        RequirementsTable& requirements;
        TrialEnds& ends;
        Attempts& attempts;
        Supply& supply;
        const Throughput& throughput;
        StepForecasts& forecasts;
        BackendChooser& backends;
    };
    explicit TrialStarts(const Uses& uses) : uses_(uses) {}
    TrialStarts(const TrialStarts&) = delete;
    TrialStarts& operator=(const TrialStarts&) = delete;

    /// Starts workers that can be asked what trials need, before anything is known of any trial.
    void warm_up();
    /// Starts trials while some fit: one after the other, since each changes what is left. The machine is read again
    /// after each.
    void start_trials();
    /// A worker sent its hello: the trial that is reserved for it begins.
    void worker_ready(WorkerIndex index, const from_worker::Hello& hello);
    /// A worker answered what a trial needs, or why it cannot train it.
    void planned(WorkerIndex index, const from_worker::PlanAnswer& answer);

    /// Whether the first trial trains on several cores, and others begin later.
    [[nodiscard]] bool first_trial_leads() const;
    /// The number of trials at once that the limits allow, or the number of workers if that is less.
    [[nodiscard]] std::int64_t at_once() const;
    /// Trials that some worker could start on now or soon; of promotions no more are counted than there are workers.
    [[nodiscard]] std::int64_t work_left() const;
    /// Which trial waits for what other programs use, with the numbers; empty: none does.
    [[nodiscard]] const std::string& waits() const { return waits_; }

   private:
    [[nodiscard]] bool may_start_more() const;
    [[nodiscard]] PlacementDecision find_work();
    bool act_on(const PlacementDecision& decision);
    bool look_further(const PlacementDecision& decision);
    [[nodiscard]] bool may_launch() const;
    void choose_backends();
    [[nodiscard]] PlacementLimits limits();
    void keep_cores_for_devices(PlacementLimits& limits);
    const Machine& machine();
    void launch(WorkerIndex index, int device, const std::vector<int>& more = {});
    void start(const PlacementDecision::Start& start);
    std::int64_t next_trial();
    bool find_requirements(std::int64_t trial);
    void ask_a_worker(std::int64_t trial);
    [[nodiscard]] Side side_of(std::int64_t trial) const;
    bool try_other_side(std::int64_t trial);
    void refuse(const Admission::Reason& never);
    [[nodiscard]] bool wait_for_others(const std::optional<Admission::Reason>& kept_out);

    Uses uses_;

    std::set<std::int64_t> unanswered_;  ///< trials that no worker can be asked about at this moment
    Machine reading_;
    bool is_read_ = false;            ///< since a trial has started or a worker left
    const Machine* fixed_ = nullptr;  ///< that placement was given

    std::string waits_;
    std::int64_t waiting_trial_ = 0;  ///< that other programs keep from starting,
    Seconds waits_since_{0};          ///< since when
};

}  // namespace hpo
