#include "worker/training/worker_context.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "worker/data/memory.hpp"
#include "worker/training/fusion.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/trial_messages.hpp"

namespace hpo {
namespace {

/// The next trial keeps an arena or a buffer that is larger than it needs by up to this many bytes, since its pages are
/// mapped already. A larger one is freed, so that the memory measured for a trial is its own.
constexpr std::size_t arena_slack = std::size_t{4} << 20;
constexpr std::size_t buffer_slack = std::size_t{1} << 20;

bool fits(std::size_t there, std::size_t bytes, std::size_t slack) { return there >= bytes && there - bytes <= slack; }

bool fits(const std::vector<float>& there, std::int64_t count) {
    return fits(there.capacity() * sizeof(float), static_cast<std::size_t>(count) * sizeof(float), buffer_slack);
}

}  // namespace

void WorkerContext::clear() {
    arena.reset();
    data.reset();
    spare = {};
}

bool in_host_memory(const Device& device) {
    const DeviceMemory memory = device.memory();
    return !memory.of_its_own || memory.shared_with_host;
}

bool too_much_for(const HostMemory& host, std::int64_t bytes, int processes) {
    return bytes > host.total / 2 / processes;
}

namespace {

/// Chooses the placement of samples if it is `auto`.
Placement placement_of(const WorkerContext& context, DataConfig data) {
    if (context.data) {
        data.placement = context.data->config.placement;
        if (data == context.data->config) return data.placement;
        data.placement = Placement::automatic;
    }
    const DataShape shape = value_or_throw(describe_data(data));
    const SplitSizes sizes = value_or_throw(split_sizes(data, shape));
    const auto pieces = data_pieces(shape, sizes);
    const auto more_than = [](std::int64_t bytes, std::size_t most) { return bytes > static_cast<std::int64_t>(most); };
    const DeviceMemory memory = context.device.memory();
    const bool may_be_short = memory.total_bytes > 0 && !memory.shared_with_host;
    const bool staged = (may_be_short && more_than(pieces[0] + pieces[1], memory.total_bytes / 2)) ||
                        (memory.largest_piece > 0 && more_than(std::max(pieces[0], pieces[1]), memory.largest_piece));
    const auto host = host_memory();
    if ((staged || in_host_memory(context.device)) && host &&
        too_much_for(*host, pieces[0] + pieces[1], context.processes) && shape.not_in_files.empty())
        return Placement::files;
    return staged ? Placement::staged : Placement::device;
}

}  // namespace

Configuration configuration_of(const WorkerContext& context, const Params& params) {
    Configuration configuration = value_or_throw(read_configuration(params));
    configuration.training.ranks = context.processes;
    if (configuration.training.batch_size > 0) return configuration;
    DataConfig data = configuration.data;
    if (data.placement == Placement::automatic && context.data) data.placement = context.data->config.placement;
    const bool loaded = context.data && context.data->config == data;
    const DataShape shape = loaded ? context.data->shape : value_or_throw(describe_data(data));
    if (auto set = set_batch_size(configuration, value_or_throw(split_sizes(data, shape))); !set)
        throw InvalidTrial(set.error().message);
    return configuration;
}

Configuration resolve_auto(WorkerContext& context, Configuration configuration) {
    const std::int64_t part_bytes = context.tuning.part_bytes;
    configuration.training.part_bytes = part_bytes > 0 ? part_bytes : context.device.part_bytes();
    // Unmeasured settings have typical values of cores with vector registers, and of a GPU.
    const auto measured_rows = static_cast<double>(context.tuning.rows_at_half_speed);
    configuration.training.rows_at_half_speed =
        measured_rows > 0 ? measured_rows : (context.device.slots() > 1 ? 2048 : 16);
    configuration.training.backward_updates = context.tuning.backward_updates;
    DataConfig& data = configuration.data;
    if (data.placement == Placement::automatic) data.placement = placement_of(context, data);
    return value_or_throw(context.precisions.resolve(std::move(configuration), context.device));
}

Configuration layout_configuration(const WorkerContext& context, const Configuration& configuration) {
    return context.slots > 1 ? bucket_of(configuration, context.tuning.buckets) : configuration;
}

Result<GroupPlan> plan_replicas(const WorkerContext& context, const Configuration& laid_out, const DataShape& shape,
                                const SplitSizes& sizes, int replicas) {
    return plan_group(laid_out, shape, sizes, replicas, context.slots > 1 ? Fusion::padded : Fusion::identical);
}

DeviceData& ensure_data(WorkerContext& context, const DataConfig& config, std::uint64_t data_seed,
                        const std::function<void()>& progress) {
    if (!context.data || context.data->config != config || context.data->data_seed != data_seed) {
        context.data.reset();
        context.arena.reset();  // with the new data it could take more memory than either trial needs
        context.data = value_or_throw(load_to_device(context.device, config, data_seed, progress));
    }
    return *context.data;
}

std::optional<MemoryUse> memory_left(Device& device) {
    constexpr double much = 20.0 * (std::int64_t{1} << 30);
    const auto of = [](double free, double total) {
        return MemoryUse{total > 0 ? 1 - std::min(1.0, free / total) : 0, static_cast<std::size_t>(free)};
    };
    if (const auto own = device.memory_left())
        return of(static_cast<double>(own->free), static_cast<double>(own->total));
    if (!in_host_memory(device)) return {};
    const auto host = host_memory();
    if (!host) return {};
    return of(static_cast<double>(host->free), std::min(static_cast<double>(host->total), much));
}

bool arena_fits(const WorkerContext& context, const GroupPlan& plan) {
    // A device's own memory is reserved to the byte, and so is the memory of trials that share a worker.
    const std::size_t slack = context.device.memory().of_its_own || context.slots > 1 ? 0 : arena_slack;
    return context.arena && fits(context.arena->bytes(), plan.arena.bytes, slack);
}

void check_host_memory(const WorkerContext& context, const GroupPlan& plan) {
    const std::int64_t here = in_host_memory(context.device) ? static_cast<std::int64_t>(plan.arena.bytes) : 0;
    const std::int64_t needed = plan.ranks * (here + plan.host_bytes);
    if (const auto available = available_bytes(); available && needed > *available)
        throw OutOfMemory("the trial needs " + mebibytes(needed) + "; the machine has " + mebibytes(*available) +
                          " left");
}

Buffer& ensure_arena(WorkerContext& context, const GroupPlan& plan) {
    if (arena_fits(context, plan)) return *context.arena;
    context.arena.reset();
    auto arena = context.device.allocate(plan.arena.bytes);
    if (!arena) throw OutOfMemory("the trial's arena: " + arena.error().message);
    context.arena = *std::move(arena);
    return *context.arena;
}

void drop_unfitting_spares(WorkerContext& context, const GroupPlan& plan) {
    std::erase_if(context.spare, [&](const HostBuffers& buffers) {
        return !fits(buffers.state, plan.folds * plan.state_elements) ||
               !fits(buffers.best, plan.folds * plan.arena.weights.columns);
    });
}

HostBuffers acquire_buffers(WorkerContext& context, const GroupPlan& plan) {
    HostBuffers buffers;
    if (!context.spare.empty()) {
        buffers = std::move(context.spare.back());
        context.spare.pop_back();
    }
    for (const auto& [floats, count] : {std::pair(&buffers.state, plan.folds * plan.state_elements),
                                        std::pair(&buffers.best, plan.folds * plan.arena.weights.columns)}) {
        if (!fits(*floats, count)) std::vector<float>().swap(*floats);
        floats->resize(static_cast<std::size_t>(count));
    }
    return buffers;
}

}  // namespace hpo
