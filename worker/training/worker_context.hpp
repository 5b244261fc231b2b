// The objects that a worker keeps from one trial to the next, so that the next one starts at once, and functions of
// trials on them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/background.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/precision.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/tuning.hpp"

namespace hpo {

/// Host memory of a trial's numbers.
struct HostBuffers {
    std::vector<float> state;  ///< weights and moments, on their way to or from a checkpoint or another arena
    std::vector<float> best;   ///< weights of the best step
};

class LeadingRank;

struct WorkerContext {
    Device& device;
    const Clock& clock;
    std::int64_t process_bytes = 0;  ///< the process's memory without data and arena
    int slots = 1;                   ///< concurrent trials, 1 to max_replicas
    std::unique_ptr<DeviceData> data;
    std::unique_ptr<Buffer> arena;
    std::vector<HostBuffers> spare;  ///< buffers of ended trials
    PrecisionChoices precisions;
    /// Writes checkpoints: on a GPU, which trains many trials at once, with up to half of the cores; on a CPU with one
    /// thread, as more would take cores from other trials.
    Background background{
        device.slots() > 1 ? std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 4, 32) : 1};
    Tuning tuning{};                   ///< of the device
    std::vector<std::string> notes{};  ///< see from_worker::Hello
    std::vector<int> cores{};          ///< of the host, to compute on; none: one thread on any core
    int processes = 1;                 ///< that train a trial together: ranks
    LeadingRank* ranks = nullptr;      ///< with several processes, in rank 0; outlives the trials

    /// Frees the data, the arena and the buffers.
    void clear();
};

/// A trial that cannot be trained as it is configured. Its outcome is `failed`, with this message.
struct InvalidTrial : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The value, or InvalidTrial with the error's message.
template <class T>
T value_or_throw(Result<T> result) {
    if (!result) throw InvalidTrial(result.error().message);
    return *std::move(result);
}
inline void value_or_throw(const Result<void>& result) {
    if (!result) throw InvalidTrial(result.error().message);
}

/// Returns true if the device's memory is the host's.
bool in_host_memory(const Device& device);

/// Returns true if the samples' `bytes`, which each process of a trial loads, would take more than half of the host's
/// memory: then they stay in their files.
bool too_much_for(const HostMemory& host, std::int64_t bytes, int processes);

struct MemoryUse {
    double use = 0;        ///< fraction of 1, by all programs
    std::size_t free = 0;  ///< bytes
};
/// Returns the use of the memory of arenas; nothing if it is unknown. At most 20 GiB of a host's memory count as the
/// total, since one free gibibyte is little and ten are much on any machine.
std::optional<MemoryUse> memory_left(Device& device);

/// Returns the configuration of a trial in this worker's processes, with a batch size that suits its data if it has
/// none. Throws InvalidTrial.
Configuration configuration_of(const WorkerContext& context, const Params& params);

/// Resolves the settings that depend on this device: precision (see precision.hpp) and placement of the data if they
/// are `auto`, and the size of temporary memory. Throws InvalidTrial.
Configuration resolve_auto(WorkerContext& context, Configuration configuration);

/// Returns the configuration of a trial's arena: that of its bucket (fusion.hpp) if trials may share the worker,
/// otherwise its own.
Configuration layout_configuration(const WorkerContext& context, const Configuration& configuration);
/// Returns the plan of a group with this configuration. Errors are plan_group's.
Result<GroupPlan> plan_replicas(const WorkerContext& context, const Configuration& laid_out, const DataShape& shape,
                                const SplitSizes& sizes, int replicas);

/// Returns the data set, in the device's memory or staged; loads it unless it is loaded. `progress` is as for
/// load_to_device. Throws InvalidTrial and OutOfMemory.
DeviceData& ensure_data(WorkerContext& context, const DataConfig& config, std::uint64_t data_seed,
                        const std::function<void()>& progress);

/// Returns true if the present arena is large enough for the plan and not much larger.
bool arena_fits(const WorkerContext& context, const GroupPlan& plan);
/// Throws OutOfMemory if a group with this plan takes, in all its ranks, more memory than the host has available.
void check_host_memory(const WorkerContext& context, const GroupPlan& plan);

/// Returns the arena for the plan, and frees one that does not fit first. Throws OutOfMemory.
Buffer& ensure_arena(WorkerContext& context, const GroupPlan& plan);

/// Frees spare buffers that do not fit the plan, before a trial whose memory is measured begins.
void drop_unfitting_spares(WorkerContext& context, const GroupPlan& plan);

/// Returns buffers for a trial with this plan: spare ones if they fit.
HostBuffers acquire_buffers(WorkerContext& context, const GroupPlan& plan);

}  // namespace hpo
