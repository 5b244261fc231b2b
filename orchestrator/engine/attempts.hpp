// Attempts, from their beginning in a worker to the end that the worker reports. worker_ends.hpp is about those that
// end with their worker.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "hpo/messages.hpp"
#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/device_health.hpp"
#include "orchestrator/engine/machine_view.hpp"
#include "orchestrator/engine/memory_failures.hpp"
#include "orchestrator/engine/requirements.hpp"
#include "orchestrator/engine/step_forecasts.hpp"
#include "orchestrator/engine/throughput.hpp"
#include "orchestrator/engine/trial_ends.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

class Attempts {
   public:
    /// The parts that attempts use. All references outlive them.
    struct Uses {
        EngineContext& context;
        WorkerPool& pool;
        const MachineView& machine;
        DeviceHealth& health;
        RequirementsTable& requirements;
        TrialEnds& ends;
        MemoryFailures& memory;
        const Placement& placement;
        Throughput& throughput;
        StepForecasts& forecasts;
    };
    explicit Attempts(const Uses& uses) : uses_(uses) {}

    /// The trial that is reserved for a worker begins in it.
    void begin(WorkerIndex index, Job& job);
    /// Training begins. Tells whether a repeated attempt goes on from a checkpoint, and warns if steps are missing, or
    /// if the data changed since earlier trials.
    void started(WorkerIndex index, const from_worker::Started& message);
    /// A step: stored, judged, and answered.
    void reported(WorkerIndex index, const from_worker::Reported& message);
    /// A line for the user. Before the attempt trains it gives the reason of the delay, and is a warning.
    void logged(WorkerIndex index, const from_worker::Log& message);
    /// The worker has ended the attempt, by order or by itself.
    void finished(WorkerIndex index, const from_worker::Finished& message);
    /// Takes the memory of the workers' process trees, about once a second.
    void measure();
    /// Figures that an attempt leaves behind, however it ended.
    void sum_up(const Job& job);

    /// Returns the number of complete trials of this session that have a remark on their end, as text; empty if there
    /// are none.
    [[nodiscard]] std::string about_remarks() const;

   private:
    [[nodiscard]] StepForecast forecast(const Worker& worker, std::int64_t trial) const;
    void tell_resumption(std::int64_t trial, std::int64_t from) const;
    void record_usage(Job& job, const Footprint& used);
    void keep_peak(const Job& job);
    [[nodiscard]] bool is_news(Job& job, const std::string& warning);
    void remark(std::int64_t trial, const std::string& text);
    void not_used(Job* job, std::int64_t trial, const std::string& why);
    void without_checkpoint(AttemptId id, const std::string& reason);
    [[nodiscard]] bool gives_value(std::int64_t trial, const from_worker::Finished& message) const;
    void ended_by_worker(const Job& job, const from_worker::Finished& message, bool shared, bool on_device);

    Uses uses_;
    std::set<std::int64_t> set_aside_;  ///< trials whose checkpoint was set aside, without a report since
    bool data_differ_ = false;          ///< the user was warned that the data differ
    std::set<std::string> told_;        ///< warnings of steps, without their numbers
    std::int64_t remarks_ = 0;          ///< complete trials with a remark on their end
};

}  // namespace hpo
