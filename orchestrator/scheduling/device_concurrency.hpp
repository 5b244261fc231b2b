// Searches the number of trials at once on one device (or on the host): workers side by side, and trials fused in each
// worker. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/scheduling/concurrency_search.hpp"
#include "orchestrator/scheduling/throughput_meter.hpp"

namespace hpo {

/// The number where a search begins, and the largest that it may try.
struct ConcurrencyRange {
    std::int64_t start = 1, most = 1;
};

/// The findings of earlier sessions about the number of trials at once on a device.
struct RememberedConcurrency {
    FoundConcurrency workers, fused;
};

class DeviceConcurrency {
   public:
    /// `fused` is {1, 1} where a worker trains one trial at a time. `cores`: see ThroughputMeter.
    DeviceConcurrency(ConcurrencyRange workers, ConcurrencyRange fused, const RememberedConcurrency& remembered = {},
                      double cores = 0)
        : meter_(cores),
          workers_(workers.start, workers.most, remembered.workers),
          fused_(fused.start, fused.most, remembered.fused) {}

    /// The trials that run on the device now; `left` is the number of trials that are left to start. Returns true if a
    /// limit has changed.
    bool run(const std::vector<MeteredTrial>& trials, std::int64_t left);
    /// A trial has reported a step. Returns true if a limit has changed.
    bool reported(std::int64_t trial, std::int64_t step, Seconds now, std::int64_t left,
                  const std::optional<ThreadTime>& threads = {});

    /// See ThroughputMeter::ending().
    void ending(std::int64_t trial) { meter_.ending(trial); }

    [[nodiscard]] const ConcurrencySearch& workers() const { return workers_; }
    [[nodiscard]] const ConcurrencySearch& fused() const { return fused_; }

   private:
    bool learn(const MeteredChanges& changes, std::int64_t left);

    ThroughputMeter meter_;
    ConcurrencySearch workers_, fused_;
};

}  // namespace hpo
