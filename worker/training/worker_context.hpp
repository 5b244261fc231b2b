// What a worker keeps from one trial to the next, so that the next one starts at once; and what a trial needs of it.
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
#include "worker/training/tuning.hpp"

namespace hpo {

/// Host memory of a trial's numbers.
struct HostBuffers {
    std::vector<float> state;  ///< weights and moments, on their way to or from a checkpoint or another arena
    std::vector<float> best;   ///< weights of the best step
};

struct WorkerContext {
    Device& device;
    const Clock& clock;
    std::int64_t process_bytes = 0;  ///< the process's memory without data and arena
    int slots = 1;                   ///< concurrent trials, 1 to max_replicas
    std::unique_ptr<DeviceData> data;
    std::unique_ptr<Buffer> arena;
    std::vector<HostBuffers> spare;  ///< of trials that have ended
    PrecisionChoices precisions;
    /// Writes checkpoints. A GPU trains many trials at once, whose files are too many for one thread: up to half of the
    /// cores write as many as wait. Beside a CPU that trains on one core, more than one would take cores from other
    /// trials.
    Background background{
        device.slots() > 1 ? std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 4, 32) : 1};
    Tuning tuning{};                   ///< of the device
    std::vector<std::string> notes{};  ///< see from_worker::Hello

    /// Frees what trials took.
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

/// Whether the device's memory is also the host's.
bool in_host_memory(const Device& device);

struct MemoryUse {
    double use = 0;        ///< fraction of 1, by all programs
    std::size_t free = 0;  ///< bytes
};
/// The use of the memory that arenas lie in; nothing where it is not known. Of a host's memory, what exceeds 20 GiB
/// does not make the fraction smaller: on any machine one free gibibyte is little and ten are much.
std::optional<MemoryUse> memory_left(Device& device);

/// The configuration of a trial, with a batch size that suits its data if it has none. Throws InvalidTrial.
Configuration configuration_of(const WorkerContext& context, const Params& params);

/// The configuration with everything that depends on this device: precision (see precision.hpp) and placement of the
/// data where they are `auto`, and the size of temporary memory. Throws InvalidTrial.
Configuration resolve_auto(WorkerContext& context, Configuration configuration);

/// The configuration that a trial's arena is laid out for: its bucket (fusion.hpp) where trials may share the worker,
/// otherwise its own.
Configuration layout_configuration(const WorkerContext& context, const Configuration& configuration);
/// The plan of a group with such a configuration. Errors are plan_group's.
Result<GroupPlan> plan_replicas(const WorkerContext& context, const Configuration& laid_out, const DataShape& shape,
                                const SplitSizes& sizes, int replicas);

/// The data set, in the device's memory or staged; loads it unless it is there. `progress` is as for load_to_device.
/// Throws InvalidTrial and OutOfMemory.
DeviceData& ensure_data(WorkerContext& context, const DataConfig& config, std::uint64_t data_seed,
                        const std::function<void()>& progress);

/// Whether the present arena suits the plan: it is large enough and not much larger.
bool arena_fits(const WorkerContext& context, const GroupPlan& plan);
/// Throws OutOfMemory where the host has less memory available than a group with this plan takes.
void check_host_memory(const WorkerContext& context, const GroupPlan& plan);

/// The arena for the plan. An arena that does not fit is freed first. Throws OutOfMemory.
Buffer& ensure_arena(WorkerContext& context, const GroupPlan& plan);

/// Frees spare buffers that do not fit the plan, before a trial whose memory is measured begins.
void drop_unfitting_spares(WorkerContext& context, const GroupPlan& plan);

/// Buffers for a trial with this plan; spare ones where they fit.
HostBuffers acquire_buffers(WorkerContext& context, const GroupPlan& plan);

/// The answer to `plan`, which also carries errors. Reads headers and labels of the data, but not the samples.
from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, WorkerContext& context);

}  // namespace hpo
