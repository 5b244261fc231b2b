// Starts trials: finds their requirements, asks placement (scheduling/placement.hpp) for a decision, and launches
// workers, gives them trials, or releases them.
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

    /// Starts the workers that answer `plan`, before the requirements of any trial are known.
    void warm_up();
    /// Starts trials one after the other while some fit. Reads the machine again after each, as each changes the free
    /// resources.
    void start_trials();
    /// Takes in which hosts do not answer. Call it once a second.
    void find_unreachable();
    /// Begins the trial that is reserved for a worker, which has sent its hello.
    void worker_ready(WorkerIndex index, const from_worker::Hello& hello);
    /// Takes in a worker's answer to `plan`: the requirements of a trial, or why it cannot be trained.
    void planned(WorkerIndex index, const from_worker::PlanAnswer& answer);

    /// Returns true while the first trial trains on several cores and others wait for it.
    [[nodiscard]] bool first_trial_leads() const;
    /// Returns the number of trials at once that the limits allow, at most the number of workers.
    [[nodiscard]] std::int64_t at_once() const;
    /// Returns the number of trials that could start now or soon. Counts at most as many promotions as there are
    /// workers.
    [[nodiscard]] std::int64_t work_left() const;
    /// Returns which trial waits for memory that other programs use, with the numbers; empty if none does.
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
    void take_reading(Machine reading);
    [[nodiscard]] std::optional<int> host_of_worker(WorkerIndex index);
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

    std::set<std::int64_t> unanswered_;  ///< trials without a worker that can answer `plan` at this moment
    Machine reading_;
    bool is_read_ = false;      ///< `reading_` is newer than the last start of a trial and the last end of a worker
    bool has_reading_ = false;  ///< placement has been told `reading_`
    const Machine* fixed_ = nullptr;  ///< constant machine that placement has

    std::string waits_;
    std::int64_t waiting_trial_ = 0;  ///< trial that waits for memory of other programs
    Seconds waits_since_{0};          ///< begin of this wait
};

}  // namespace hpo
