// What a worker keeps from trial to trial, so that the next one starts at once, and what a trial needs of it.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/precision.hpp"

namespace hpo {

/// A trial's numbers on the host.
struct HostBuffers {
    std::vector<float> state;  ///< weights and moments, on their way to or from a checkpoint or another arena
    std::vector<float> best;   ///< weights of the best step
};

struct Workshop {
    Device& device;
    const Clock& clock;
    std::int64_t process_bytes = 0;  ///< the worker's own memory, without data and arena
    int slots = 1;                   ///< trials at once, 1 to most_lanes
    std::unique_ptr<DeviceData> data;
    std::unique_ptr<Buffer> arena;
    std::vector<HostBuffers> spare;  ///< of trials that ended
    PrecisionChoices precisions;

    /// Gives back what trials took.
    void clear();
};

/// What is wrong with a trial, in words: its outcome is `failed`.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class T>
T need(Result<T> result) {
    if (!result) throw Refused(result.error().message);
    return *std::move(result);
}

/// Whether the device's memory is the host's, too.
bool in_host_memory(const Device& device);

struct MemoryUse {
    double use = 0;        ///< fraction of 1, by all programs
    std::size_t free = 0;  ///< bytes
};
/// Of the memory that arenas lie in, as far as it can be told. Of a host's memory, what is beyond 20 GiB does not make
/// the fraction smaller: a gibibyte left is little, and ten are much, on any machine.
std::optional<MemoryUse> memory_left(Device& device);

/// The configuration with what this device makes of `auto`: precision (see precision.hpp) and placement of the data.
Configuration settled(Workshop& workshop, Configuration configuration);

/// What the arena of a trial, and of those beside it, is laid out for: its bucket where there may be some.
Configuration laid_out_for(const Workshop& workshop, const Configuration& configuration);
/// Of such a configuration. Errors as plan_group's.
Result<GroupPlan> plan_lanes(const Workshop& workshop, const Configuration& laid_out, const DataShape& shape,
                             const SplitSizes& sizes, int lanes);

/// The data set in the device's memory, or staged, loaded unless it is there. `progress` as load_to_device has it.
DeviceData& need_data(Workshop& workshop, const DataConfig& config, std::uint64_t data_seed,
                      const std::function<void()>& progress);

/// Whether the workshop's arena is one for the plan: large enough, and not much larger.
bool arena_fits(const Workshop& workshop, const GroupPlan& plan);
/// Throws OutOfMemory where the host has less than a group of the plan takes of it.
void need_room(const Workshop& workshop, const GroupPlan& plan);

/// The arena for the plan. One that is there and does not fit goes first. Throws OutOfMemory.
Buffer& need_arena(Workshop& workshop, const GroupPlan& plan);

/// Before a trial begins whose memory is to be its own.
void drop_spare_that_does_not_fit(Workshop& workshop, const GroupPlan& plan);

/// A trial's buffers for the plan, spare ones where they fit.
HostBuffers need_buffers(Workshop& workshop, const GroupPlan& plan);

/// The answer to `plan`; errors are in it. Reads headers and labels of the data, not the samples.
from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, Workshop& workshop);

}  // namespace hpo
