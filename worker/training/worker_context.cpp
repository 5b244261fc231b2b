#include "worker/training/worker_context.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "worker/data/memory.hpp"
#include "worker/training/checkpoint.hpp"
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

/// Returns why a trial does not fit a device with a limit on the size of an allocation; empty if it fits.
std::string too_large_a_piece(const DeviceMemory& memory, const GroupPlan& plan, const DataShape& shape,
                              const SplitSizes& sizes, Placement placement) {
    if (memory.largest_piece == 0) return {};
    const auto most = static_cast<std::int64_t>(memory.largest_piece);
    const auto limit = [&](const char* what, std::int64_t bytes, const char* cure) {
        return std::string(what) + " takes " + mebibytes(bytes) + " in one piece, and the device gives at most " +
               mebibytes(most) + " in one: " + cure;
    };
    if (const auto arena = static_cast<std::int64_t>(plan.arena.bytes); arena > most)
        return limit("the trial", arena, "a smaller batch or training.accumulation, or a smaller model");
    const auto pieces = data_pieces(shape, sizes);
    const std::int64_t largest = std::max(pieces[0], pieces[1]);
    if (!is_staged(placement) && largest > most)
        return limit("the data set", largest, "data.placement: staged keeps it on the host");
    return {};
}

/// Returns a line about the memory of a model's parts, for users; empty if it has none.
std::string memory_text(const GroupPlan& plan) {
    const std::vector<MemoryPart> parts = plan.model->memory_parts();
    if (parts.empty()) return {};
    std::size_t rest = plan.arena.bytes;
    std::string text = "memory of the trial:";
    for (const MemoryPart& part : parts) {
        text += " " + std::string(part.name) + " " + mebibytes(static_cast<std::int64_t>(part.bytes)) + ",";
        rest -= part.bytes;
    }
    return text + " weights, moments and batches " + mebibytes(static_cast<std::int64_t>(rest));
}

/// Returns the largest memory of readers of samples: the position and the targets of each sample.
std::int64_t reader_bytes(const DataShape& shape, const SplitSizes& sizes) {
    return (shape.train + shape.test) * (4 + 4 * (shape.target_per_step ? 0 : shape.target_columns())) * sizes.folds;
}

/// Returns a line about the placement of samples, for users; empty if they are in the device's memory.
std::string placement_text(const DataConfig& data, const DataConfig& asked, const DataShape& shape,
                           const SplitSizes& sizes) {
    if (!is_staged(data.placement)) return {};
    const bool automatic = asked.placement == Placement::automatic;
    const std::string size = mebibytes(data_bytes(shape, sizes));
    if (data.placement == Placement::staged)
        return "samples (" + size + ") lie in the host's memory, from where batches are copied" +
               (automatic ? ": the device has too little" : "");
    return "samples (" + size + " in memory) stay in their files, from where batches are read" +
           (automatic ? ": they are more than half of the memory" : "");
}

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
    if ((staged || in_host_memory(context.device)) && host && pieces[0] + pieces[1] > host->total / 2 &&
        shape.not_in_files.empty())
        return Placement::files;
    return staged ? Placement::staged : Placement::device;
}

}  // namespace

Configuration configuration_of(const WorkerContext& context, const Params& params) {
    Configuration configuration = value_or_throw(read_configuration(params));
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
    const std::int64_t needed = here + plan.host_bytes;
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

from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, WorkerContext& context) {
    from_worker::PlanAnswer answer;
    answer.id = question.id;
    try {
        const Configuration asked = configuration_of(context, question.params);
        const Configuration laid_out = layout_configuration(context, asked);
        const Configuration configuration = resolve_auto(context, laid_out);
        const bool loaded = context.data && context.data->config == configuration.data;
        const DataShape shape = loaded ? context.data->shape : value_or_throw(describe_data(configuration.data));
        const SplitSizes sizes = value_or_throw(split_sizes(configuration.data, shape));
        const GroupPlan alone = value_or_throw(plan_group(asked, shape, sizes, 1));
        const GroupPlan plan = value_or_throw(plan_replicas(context, configuration, shape, sizes, 1));
        answer.arena_bytes = static_cast<std::int64_t>(plan.arena.bytes);
        const Placement placement = configuration.data.placement;
        if (placement == Placement::files && !shape.not_in_files.empty())
            throw InvalidTrial("data.placement: files: " + shape.not_in_files);
        answer.data_bytes = data_bytes(shape, sizes, placement);
        const bool on_host = in_host_memory(context.device);
        const DeviceMemory memory = context.device.memory();
        if (const std::string too_large = too_large_a_piece(memory, plan, shape, sizes, placement); !too_large.empty())
            throw InvalidTrial(too_large);
        const auto taken = [&](std::size_t bytes) { return static_cast<std::int64_t>(memory.taken_by(bytes)); };
        const auto samples_on_device = [&] {
            std::int64_t bytes = 0;
            for (const std::int64_t piece : data_pieces(shape, sizes)) bytes += taken(static_cast<std::size_t>(piece));
            return bytes;
        };
        answer.footprint.host_bytes = context.process_bytes + plan.host_bytes + shape.loading_bytes;
        if (on_host) answer.footprint.host_bytes += answer.arena_bytes;
        const bool staged = is_staged(placement);
        if (on_host || staged) answer.footprint.host_bytes += answer.data_bytes;
        if (placement == Placement::files) answer.footprint.host_bytes += reader_bytes(shape, sizes);
        if (memory.of_its_own)
            answer.footprint.device_bytes = taken(plan.arena.bytes) + taken(context.device.stream_bytes(sizes.folds)) +
                                            (staged ? 0 : samples_on_device()) +
                                            static_cast<std::int64_t>(memory.context_bytes);
        if (question.explain_data) {
            answer.data = value_or_throw(explain_data(configuration.data));
            if (const std::string text = placement_text(configuration.data, asked.data, shape, sizes); !text.empty())
                answer.data.push_back(text);
            for (const std::string& remark : plan.model->remarks()) answer.data.push_back(remark);
            if (const std::string parts = memory_text(plan); !parts.empty()) answer.data.push_back(parts);
            if (const std::string text = checkpointing_text(plan); !text.empty()) answer.data.push_back(text);
        }
        answer.footprint.cores = 1;
        answer.parameters = alone.model->block().count();
        answer.iterations_per_step = alone.pace.of_trial.iterations_per_step;
        answer.training_samples = sizes.epoch();
        answer.flops_per_step = alone.flops_per_step;
        if (context.slots > 1) {
            const GroupPlan two = value_or_throw(plan_replicas(context, configuration, shape, sizes, 2));
            char name[17];
            std::snprintf(
                name, sizeof name, "%016llx",
                static_cast<unsigned long long>(checkpoint_binding(fusion_key(laid_out, question.data_seed))));
            answer.fusion_key = name;
            answer.colocated.host_bytes = two.host_bytes - plan.host_bytes;
            if (on_host) answer.colocated.host_bytes += static_cast<std::int64_t>(two.arena.bytes - plan.arena.bytes);
            // Rounded up for each replica, so that the sum for any number of them is never less than what they take.
            const auto stream_bytes = [&](int trials) { return context.device.stream_bytes(trials * sizes.folds); };
            const std::size_t first = stream_bytes(1), second = stream_bytes(2);
            const bool in_one_piece = taken(stream_bytes(context.slots)) == taken(first);
            if (memory.of_its_own)
                answer.colocated.device_bytes =
                    taken(two.arena.bytes - plan.arena.bytes) + (in_one_piece ? 0 : taken(second - first));
            answer.colocated.cores = 0;  // one thread drives the device for all
        }
    } catch (const std::exception& error) {
        answer.error = error.what();
    }
    return answer;
}

}  // namespace hpo
