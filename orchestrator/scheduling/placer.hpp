// Makes the same decisions as place() (placement.hpp), but keeps its state and is told only what has changed, so that a
// decision costs about the same with ten devices and with ten thousand. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/scheduling/placement.hpp"
#include "orchestrator/scheduling/planner.hpp"

namespace hpo {

class Placer {
   public:
    /// Sets the machine, which must outlive this object or the next call. Running and waiting trials stay.
    void set_machine(const Machine& machine);
    void set_limits(PlacementLimits limits);
    [[nodiscard]] const PlacementLimits& limits() const { return limits_; }

    void set_worker(std::size_t index, PlacementWorker worker);
    /// Adds a trial that runs in a worker. `order` is the unique number of its launch.
    void hold(std::int64_t order, const Reservation& reservation);
    void release(std::int64_t order);
    /// Adds a waiting trial. Trials with a lower position start earlier. A trial at the same position is replaced.
    void enqueue(std::int64_t position, PlacementTrial trial);
    void dequeue(std::int64_t position);

    /// Returns what place() would decide. The machine must be set.
    [[nodiscard]] PlacementDecision decide();

    /// Returns the reservation that a start makes.
    [[nodiscard]] Reservation reservation_of(const PlacementDecision::Start& start) const;
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
    /// Returns the largest number of slots of any worker that answers what trials need, without regard to the limits,
    /// and at least 1.
    [[nodiscard]] std::size_t most_slots() const;
    /// Returns how many trials may wait before no further one is looked for (concurrency.hpp).
    [[nodiscard]] std::size_t longest_queue(std::size_t workers) const;

   private:
    using Workers = std::set<std::size_t>;
    struct Queued {
        PlacementTrial trial;
        Planner::Prospect prospect = Planner::Prospect::fits;
    };
    void index(std::size_t worker, bool in);
    void assess(Queued& queued, std::int64_t position);
    void assess_all();
    [[nodiscard]] Waiting waiting(const PlacementTrial& trial) const;
    [[nodiscard]] std::vector<int> joinable_devices(const PlacementTrial& trial) const;
    [[nodiscard]] std::size_t slots_of(const PlacementWorker& worker) const;
    [[nodiscard]] bool may_use_another(int device) const;
    [[nodiscard]] bool takes(const PlacementWorker& worker, const PlacementTrial& trial,
                             const Admission::Launch& launch) const;
    [[nodiscard]] std::optional<std::size_t> worker_with_room(const Admission::Launch& launch,
                                                              const PlacementTrial& trial, bool another,
                                                              const std::vector<std::size_t>& released) const;
    std::optional<PlacementDecision::Start> worker_for(const Admission::Launch& launch, const PlacementTrial& trial,
                                                       PlacementDecision& decision) const;

    const Machine* machine_ = nullptr;
    PlacementLimits limits_;
    std::optional<Planner> planner_;
    std::map<std::int64_t, Reservation> held_;  ///< by the order of launch

    std::map<std::int64_t, Queued> queue_;  ///< by position
    std::set<std::int64_t> never_;          ///< positions of those that are too large for the empty machine,
    std::set<std::int64_t> kept_out_;       ///< and of those that other programs keep out

    // Workers.
    std::vector<PlacementWorker> workers_;
    Workers empty_, idle_;
    std::map<int, Workers> idle_on_;             ///< by device
    std::map<int, Workers> open_on_;             ///< that train and may take a further trial
    std::map<int, Workers> asked_on_;            ///< with several slots and no trial, that are about to answer
    std::map<int, std::int64_t> busy_on_;        ///< with trials
    std::map<std::string, Workers> by_key_;      ///< with trials of a fusion key, that others may join
    Workers with_key_;                           ///< with a fusion key
    std::map<std::size_t, std::int64_t> slots_;  ///< of workers that answer what trials need: how many have so many
};

}  // namespace hpo
