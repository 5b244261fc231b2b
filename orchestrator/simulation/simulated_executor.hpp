// Workers of a simulation: they answer, train and exit at times of a virtual clock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/simulation/simulate.hpp"

namespace hpo {

class VirtualClock final : public Clock {
   public:
    [[nodiscard]] Seconds now() const override { return now_; }
    void set(double seconds) { now_ = Seconds(seconds); }

   private:
    Seconds now_{0};
};

/// Cores or an accelerator that the trials on it share evenly.
class SharedProcessor {
   public:
    /// `speed`: of one trial alone. `throughput`: total speed of 1, 2, ... trials relative to one.
    SharedProcessor(double speed, std::vector<double> throughput);
    /// Cores, each for one trial; more trials than cores share them.
    SharedProcessor(double speed, double cores);

    /// Begins work that takes `seconds` at speed 1 alone.
    void begin(WorkerIndex worker, double seconds, double now);
    void drop(WorkerIndex worker, double now);
    /// Ends the work that is due at `now`; returns the worker, or nothing if none is.
    std::optional<WorkerIndex> take_done(double now);
    /// Returns when the next work ends if nothing changes; nothing if there is none.
    [[nodiscard]] std::optional<double> next() const;
    /// Returns the seconds during which it was busy; of cores the sum over them.
    [[nodiscard]] double busy(double now) const;
    /// Changes with each call that changes when the next work ends.
    [[nodiscard]] std::uint64_t version() const { return version_; }

   private:
    void advance(double now);
    [[nodiscard]] double rate() const;  ///< of each work

    double speed_, cores_ = 0;
    std::vector<double> throughput_;
    double at_ = 0, progress_ = 0, busy_ = 0;
    std::uint64_t version_ = 0;
    std::set<std::pair<double, WorkerIndex>> due_;  ///< by progress
    std::vector<std::pair<WorkerIndex, double>> found_;
};

class SimulatedExecutor final : public Executor {
   public:
    /// All references outlive it.
    SimulatedExecutor(const SimulatedMachine& machine, const Workload& workload, const Ledger& ledger,
                      const VirtualClock& clock);

    void launch(WorkerIndex index, const LaunchSpec& spec) override;
    using Executor::send;
    void send(WorkerIndex index, std::span<const OrchestratorMessage> messages) override;
    void log_to(WorkerIndex, const std::filesystem::path&) override {}
    void terminate(WorkerIndex index, double grace) override;
    void kill(WorkerIndex index) override;

    /// The devices of the worker that is launched next.
    void place(WorkerIndex index, std::span<const int> devices);

    /// Returns when something happens next; nothing: never.
    [[nodiscard]] std::optional<double> next() const;
    /// Calls `listener` with all that happens at the clock's time.
    void deliver(const std::function<void(WorkerIndex, const execution::Event&)>& listener);

    [[nodiscard]] double busy() const;  ///< see SimulatedEnd
    [[nodiscard]] std::int64_t steps() const { return steps_; }
    [[nodiscard]] std::int64_t most_at_once() const { return most_at_once_; }

   private:
    enum class What { ready, planned, begins, finished, exited, processor };
    struct Happening {
        double time = 0;
        std::uint64_t order = 0;
        What what = What::ready;
        int index = 0;              ///< of the worker, or of the processor
        std::uint64_t version = 0;  ///< of the worker or the processor; an older one does not happen
        std::int64_t trial = 0;     ///< planned
        friend bool operator>(const Happening& a, const Happening& b) {
            return a.time != b.time ? a.time > b.time : a.order > b.order;
        }
    };
    struct Training {
        AttemptId id;
        TrialCost cost;
        std::int64_t step = 0, steps = 0;  ///< last reported, last of the trial
        double seconds = 0;                ///< of training in earlier steps
        double begun = 0;                  ///< the step
        Outcome outcome = Outcome::complete;
    };
    struct SimulatedWorker {
        bool lives = false;
        std::uint64_t version = 0;
        std::size_t processor = 0;
        std::optional<Training> training;
    };

    void happens(double after, What what, WorkerIndex index, std::int64_t trial = 0);
    void watch(std::size_t processor);
    void begin_step(WorkerIndex index);
    void end_attempt(WorkerIndex index, Outcome outcome);
    void handle(WorkerIndex index, const OrchestratorMessage& message);
    [[nodiscard]] execution::Event report(SimulatedWorker& worker);

    const SimulatedMachine& machine_;
    const Workload& workload_;
    const Ledger& ledger_;
    const VirtualClock& clock_;
    std::vector<SimulatedWorker> workers_;
    std::vector<SharedProcessor> processors_;
    std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
    std::uint64_t order_ = 0;
    std::int64_t steps_ = 0, at_once_ = 0, most_at_once_ = 0;
};

}  // namespace hpo
