#include "worker/training/workshop.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "worker/data/memory.hpp"
#include "worker/training/bucket.hpp"
#include "worker/training/checkpoint.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/trial_words.hpp"

namespace hpo {
namespace {

/// An arena or a buffer that is larger than needed by up to so much is kept for the next trial, whose pages are then
/// there already; a larger one is given back, so that what is measured of a trial is its own.
constexpr std::size_t arena_slack = std::size_t{4} << 20;
constexpr std::size_t buffer_slack = std::size_t{1} << 20;

bool fits(std::size_t there, std::size_t bytes, std::size_t slack) { return there >= bytes && there - bytes <= slack; }

/// Why a trial cannot be laid out on a device that gives memory in pieces of a limited size; empty: it can.
std::string too_large_a_piece(const DeviceMemory& memory, const GroupPlan& plan, const DataShape& shape,
                              const SplitSizes& sizes, Placement placement) {
    if (memory.largest_piece == 0) return {};
    const auto most = static_cast<std::int64_t>(memory.largest_piece);
    const auto limit = [&](const char* what, std::int64_t bytes, const char* cure) {
        return std::string(what) + " takes " + megabytes(bytes) + " in one piece, and the device gives at most " +
               megabytes(most) + " in one: " + cure;
    };
    if (const auto arena = static_cast<std::int64_t>(plan.arena_bytes); arena > most)
        return limit("the trial", arena, "a smaller batch or training.accumulation, or a smaller model");
    const auto pieces = data_pieces(shape, sizes);
    const std::int64_t largest = std::max(pieces[0], pieces[1]);
    if (placement != Placement::staged && largest > most)
        return limit("the data set", largest, "data.placement: staged keeps it on the host");
    return {};
}

bool fits(const std::vector<float>& there, std::int64_t count) {
    return fits(there.capacity() * sizeof(float), static_cast<std::size_t>(count) * sizeof(float), buffer_slack);
}

}  // namespace

void Workshop::clear() {
    arena.reset();
    data.reset();
    spare = {};
}

bool in_host_memory(const Device& device) {
    const DeviceMemory memory = device.memory();
    return !memory.of_its_own || memory.shared_with_host;
}

Configuration settled(Workshop& workshop, Configuration configuration) {
    DataConfig& data = configuration.data;
    if (data.placement == Placement::automatic) {
        data.placement = Placement::device;
        const DeviceMemory memory = workshop.device.memory();
        const bool may_be_short = memory.total_bytes > 0 && !memory.shared_with_host;
        if (may_be_short || memory.largest_piece > 0) {
            const DataShape shape = need(describe_data(data));
            const SplitSizes sizes = need(split_sizes(data, shape.train));
            const auto pieces = data_pieces(shape, sizes);
            const auto more_than = [](std::int64_t bytes, std::size_t most) {
                return bytes > static_cast<std::int64_t>(most);
            };
            if ((may_be_short && more_than(pieces[0] + pieces[1], memory.total_bytes / 2)) ||
                (memory.largest_piece > 0 && more_than(std::max(pieces[0], pieces[1]), memory.largest_piece)))
                data.placement = Placement::staged;
        }
    }
    return need(workshop.precisions.settle(std::move(configuration), workshop.device));
}

Configuration laid_out_for(const Workshop& workshop, const Configuration& configuration) {
    return workshop.slots > 1 ? bucket_of(configuration) : configuration;
}

Result<GroupPlan> plan_lanes(const Workshop& workshop, const Configuration& laid_out, const DataShape& shape,
                             const SplitSizes& sizes, int lanes) {
    return plan_group(laid_out, shape, sizes, lanes, workshop.slots > 1 ? Lanes::padded : Lanes::alike);
}

DeviceData& need_data(Workshop& workshop, const DataConfig& config, std::uint64_t data_seed,
                      const std::function<void()>& progress) {
    if (!workshop.data || workshop.data->config != config || workshop.data->data_seed != data_seed) {
        workshop.data.reset();
        workshop.arena.reset();  // laid out for what is gone; the two together may be more than either trial needs
        workshop.data = need(load_to_device(workshop.device, config, data_seed, progress));
    }
    return *workshop.data;
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

bool arena_fits(const Workshop& workshop, const GroupPlan& plan) {
    // A device's own memory is booked to the byte, as is that of trials which come and go beside others.
    const std::size_t slack = workshop.device.memory().of_its_own || workshop.slots > 1 ? 0 : arena_slack;
    return workshop.arena && fits(workshop.arena->bytes(), plan.arena_bytes, slack);
}

void need_room(const Workshop& workshop, const GroupPlan& plan) {
    const std::int64_t here = in_host_memory(workshop.device) ? static_cast<std::int64_t>(plan.arena_bytes) : 0;
    const std::int64_t needed = here + plan.host_bytes;
    if (const auto available = available_bytes(); available && needed > *available)
        throw OutOfMemory("the trial needs " + megabytes(needed) + "; the machine has " + megabytes(*available) +
                          " left");
}

Buffer& need_arena(Workshop& workshop, const GroupPlan& plan) {
    if (arena_fits(workshop, plan)) return *workshop.arena;
    workshop.arena.reset();
    auto arena = workshop.device.allocate(plan.arena_bytes);
    if (!arena) throw OutOfMemory("the trial's arena: " + arena.error().message);
    workshop.arena = *std::move(arena);
    return *workshop.arena;
}

void drop_spare_that_does_not_fit(Workshop& workshop, const GroupPlan& plan) {
    std::erase_if(workshop.spare, [&](const HostBuffers& buffers) {
        return !fits(buffers.state, plan.state_elements) || !fits(buffers.best, plan.weights.columns);
    });
}

HostBuffers need_buffers(Workshop& workshop, const GroupPlan& plan) {
    HostBuffers buffers;
    if (!workshop.spare.empty()) {
        buffers = std::move(workshop.spare.back());
        workshop.spare.pop_back();
    }
    for (const auto& [floats, count] :
         {std::pair(&buffers.state, plan.state_elements), std::pair(&buffers.best, plan.weights.columns)}) {
        if (!fits(*floats, count)) std::vector<float>().swap(*floats);
        floats->resize(static_cast<std::size_t>(count));
    }
    return buffers;
}

from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, Workshop& workshop) {
    from_worker::PlanAnswer answer;
    answer.id = question.id;
    try {
        const Configuration asked = need(read_configuration(question.params));
        const Configuration laid_out = laid_out_for(workshop, asked);
        const Configuration configuration = settled(workshop, laid_out);
        const bool loaded = workshop.data && workshop.data->config == configuration.data;
        const DataShape shape = loaded ? workshop.data->shape : need(describe_data(configuration.data));
        const SplitSizes sizes = need(split_sizes(configuration.data, shape.train));
        const GroupPlan own = need(plan_group(asked, shape, sizes, 1));
        const GroupPlan plan = need(plan_lanes(workshop, configuration, shape, sizes, 1));
        answer.arena_bytes = static_cast<std::int64_t>(plan.arena_bytes);
        answer.data_bytes = data_bytes(shape, sizes);
        const bool on_host = in_host_memory(workshop.device);
        const DeviceMemory memory = workshop.device.memory();
        if (const std::string too_large = too_large_a_piece(memory, plan, shape, sizes, configuration.data.placement);
            !too_large.empty())
            throw Refused(too_large);
        const auto taken = [&](std::size_t bytes) { return static_cast<std::int64_t>(memory.taken_by(bytes)); };
        const auto samples_on_device = [&] {
            std::int64_t bytes = 0;
            for (const std::int64_t piece : data_pieces(shape, sizes)) bytes += taken(static_cast<std::size_t>(piece));
            return bytes;
        };
        answer.footprint.host_bytes = workshop.process_bytes + plan.host_bytes;
        if (on_host) answer.footprint.host_bytes += answer.arena_bytes;
        const bool staged = configuration.data.placement == Placement::staged;
        if (on_host || staged) answer.footprint.host_bytes += answer.data_bytes;
        if (memory.of_its_own)
            answer.footprint.device_bytes = taken(plan.arena_bytes) + taken(workshop.device.stream_bytes(1)) +
                                            (staged ? 0 : samples_on_device()) +
                                            static_cast<std::int64_t>(memory.context_bytes);
        answer.footprint.cores = 1;
        answer.parameters = own.model->block().count();
        answer.iterations_per_step = own.pace.iterations_per_step;
        answer.flops_per_step = own.flops_per_step;
        if (workshop.slots > 1) {
            const GroupPlan two = need(plan_lanes(workshop, configuration, shape, sizes, 2));
            char name[17];
            std::snprintf(name, sizeof name, "%016llx",
                          static_cast<unsigned long long>(checkpoint_binding(shape_of(laid_out, question.data_seed))));
            answer.shape = name;
            answer.beside.host_bytes = two.host_bytes - plan.host_bytes;
            if (on_host) answer.beside.host_bytes += static_cast<std::int64_t>(two.arena_bytes - plan.arena_bytes);
            // Rounded for each, so that the sum for any number of lanes is never less than what they take.
            const std::size_t first = workshop.device.stream_bytes(1), second = workshop.device.stream_bytes(2);
            const bool in_one_piece = taken(workshop.device.stream_bytes(workshop.slots)) == taken(first);
            if (memory.of_its_own)
                answer.beside.device_bytes =
                    taken(two.arena_bytes - plan.arena_bytes) + (in_one_piece ? 0 : taken(second - first));
            answer.beside.cores = 0;  // the one thread that drives the device does it for all
        }
    } catch (const std::exception& error) {
        answer.error = error.what();
    }
    return answer;
}

}  // namespace hpo
