#include "worker/training/plan_answer.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "worker/ranks/host_ranks.hpp"
#include "worker/training/checkpoint.hpp"
#include "worker/training/fusion.hpp"
#include "worker/training/trial_messages.hpp"

namespace hpo {
namespace {

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

/// A trial as it would train on the device.
struct PlannedTrial {
    Configuration asked;     ///< of the trial itself
    Configuration laid_out;  ///< of its bucket, with `auto` settings
    Configuration resolved;  ///< of its bucket, with the settings of this device
    DataShape shape;
    SplitSizes sizes;
    GroupPlan alone;  ///< with the trial's own shape
    GroupPlan plan;   ///< with that of its bucket
};

/// Throws InvalidTrial.
PlannedTrial plan_trial(const to_worker::Plan& question, WorkerContext& context) {
    PlannedTrial trial;
    trial.asked = configuration_of(context, question.params);
    trial.laid_out = layout_configuration(context, trial.asked);
    trial.resolved = resolve_auto(context, trial.laid_out);
    const DataConfig& data = trial.resolved.data;
    const bool loaded = context.data && context.data->config == data;
    trial.shape = loaded ? context.data->shape : value_or_throw(describe_data(data));
    trial.sizes = value_or_throw(split_sizes(data, trial.shape));
    trial.alone = value_or_throw(plan_group(trial.asked, trial.shape, trial.sizes, 1));
    trial.plan = value_or_throw(plan_replicas(context, trial.resolved, trial.shape, trial.sizes, 1));
    if (data.placement == Placement::files && !trial.shape.not_in_files.empty())
        throw InvalidTrial("data.placement: files: " + trial.shape.not_in_files);
    const std::string too_large =
        too_large_a_piece(context.device.memory(), trial.plan, trial.shape, trial.sizes, data.placement);
    if (!too_large.empty()) throw InvalidTrial(too_large);
    return trial;
}

/// The memory and the cores of the processes that train the trial alone.
Footprint footprint_of(const PlannedTrial& trial, const WorkerContext& context) {
    const Placement placement = trial.resolved.data.placement;
    const bool staged = is_staged(placement), on_host = in_host_memory(context.device);
    const DeviceMemory memory = context.device.memory();
    const auto taken = [&](std::size_t bytes) { return static_cast<std::int64_t>(memory.taken_by(bytes)); };
    Footprint footprint;
    footprint.cores = 1;
    footprint.host_bytes = context.process_bytes + trial.plan.host_bytes + trial.shape.loading_bytes;
    if (on_host) footprint.host_bytes += static_cast<std::int64_t>(trial.plan.arena.bytes);
    if (on_host || staged) footprint.host_bytes += data_bytes(trial.shape, trial.sizes, placement);
    if (placement == Placement::files) footprint.host_bytes += reader_bytes(trial.shape, trial.sizes);
    if (context.processes > 1) {  // each loads the data
        footprint.cores = context.processes;
        footprint.host_bytes *= context.processes;
        footprint.host_bytes += static_cast<std::int64_t>(host_ranks_bytes(context.processes));
    }
    if (!memory.of_its_own) return footprint;
    footprint.device_bytes = taken(trial.plan.arena.bytes) + taken(context.device.stream_bytes(trial.sizes.folds)) +
                             static_cast<std::int64_t>(memory.context_bytes);
    for (const std::int64_t piece : data_pieces(trial.shape, trial.sizes))
        if (!staged) footprint.device_bytes += taken(static_cast<std::size_t>(piece));
    return footprint;
}

/// The colocated footprint of a trial in a process that trains another one. One thread drives the device for all.
Footprint colocated_footprint(const PlannedTrial& trial, const WorkerContext& context) {
    const GroupPlan two = value_or_throw(plan_replicas(context, trial.resolved, trial.shape, trial.sizes, 2));
    const std::size_t arena = two.arena.bytes - trial.plan.arena.bytes;
    const DeviceMemory memory = context.device.memory();
    Footprint further;
    further.cores = 0;
    further.host_bytes = two.host_bytes - trial.plan.host_bytes;
    if (in_host_memory(context.device)) further.host_bytes += static_cast<std::int64_t>(arena);
    if (!memory.of_its_own) return further;
    // Bytes are rounded up for each replica, so that the sum for any number of replicas is never less than their
    // memory.
    const auto taken = [&](std::size_t bytes) { return static_cast<std::int64_t>(memory.taken_by(bytes)); };
    const auto stream_bytes = [&](int trials) { return context.device.stream_bytes(trials * trial.sizes.folds); };
    const std::size_t first = stream_bytes(1), second = stream_bytes(2);
    const bool in_one_piece = taken(stream_bytes(context.slots)) == taken(first);
    further.device_bytes = taken(arena) + (in_one_piece ? 0 : taken(second - first));
    return further;
}

/// Lines about the data and the memory, for users.
std::vector<std::string> explanation_of(const PlannedTrial& trial) {
    std::vector<std::string> lines = value_or_throw(explain_data(trial.resolved.data));
    const auto add = [&](const std::string& line) {
        if (!line.empty()) lines.push_back(line);
    };
    add(placement_text(trial.resolved.data, trial.asked.data, trial.shape, trial.sizes));
    for (const std::string& remark : trial.plan.model->remarks()) add(remark);
    add(memory_text(trial.plan));
    add(checkpointing_text(trial.plan));
    return lines;
}

std::string fusion_name(const PlannedTrial& trial, std::uint64_t data_seed) {
    char name[17];
    std::snprintf(name, sizeof name, "%016llx",
                  static_cast<unsigned long long>(checkpoint_binding(fusion_key(trial.laid_out, data_seed))));
    return name;
}

}  // namespace

from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, WorkerContext& context) {
    from_worker::PlanAnswer answer;
    answer.id = question.id;
    try {
        const PlannedTrial trial = plan_trial(question, context);
        answer.arena_bytes = static_cast<std::int64_t>(trial.plan.arena.bytes);
        answer.data_bytes = data_bytes(trial.shape, trial.sizes, trial.resolved.data.placement);
        answer.footprint = footprint_of(trial, context);
        if (question.explain_data) answer.data = explanation_of(trial);
        answer.parameters = trial.alone.model->block().count();
        answer.iterations_per_step = trial.alone.pace.of_trial.iterations_per_step;
        answer.training_samples = trial.sizes.epoch();
        answer.flops_per_step = trial.alone.flops_per_step;
        if (context.slots > 1) {
            answer.fusion_key = fusion_name(trial, question.data_seed);
            answer.colocated = colocated_footprint(trial, context);
        }
    } catch (const std::exception& error) {
        answer.error = error.what();
    }
    return answer;
}

}  // namespace hpo
