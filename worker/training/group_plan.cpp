#include "worker/training/group_plan.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/text.hpp"
#include "worker/data/device_data.hpp"
#include "worker/models/registry.hpp"
#include "worker/training/batch_loader.hpp"
#include "worker/training/class_tally.hpp"
#include "worker/training/muon.hpp"

namespace hpo {
namespace {

constexpr std::int64_t most_window = 128;        // iterations
constexpr std::int64_t first_window = 32;        // iterations, at most
constexpr std::int64_t window_samples = 65'536;  // trained between the first two readings of the losses, about
// A reading makes the device wait for tens of microseconds, and a divergence should be seen soon.
constexpr Seconds short_window{0.01}, long_window{0.1};
constexpr std::int64_t evaluation_rows = 128;  // rows of a micro-batch of an evaluation, if there are that many
constexpr std::int64_t least_evaluation_rows = 16;

}  // namespace

Pace pace_of(const TrainingConfig& training, std::int64_t training_samples) {
    const std::int64_t epoch = std::max<std::int64_t>(1, training_samples / training.batch_size);
    return {epoch, training.eval_every > 0 ? training.eval_every : epoch};
}

std::int64_t next_window(std::int64_t window, Seconds took, std::int64_t most) {
    if (took < short_window) return std::min(most, 2 * window);
    return took > long_window ? std::max<std::int64_t>(1, window / 2) : window;
}

double rate_factor(const ParameterBlock& block, const Parameter& parameter, OptimizerKind optimizer) {
    const double width = block.width_factor(parameter);
    const bool grows = parameter.place == Place::input || parameter.place == Place::vector;
    // The greatest singular value of an orthogonal update grows with the root of the width, as it is scaled.
    if (optimizer == OptimizerKind::muon && parameter.place == Place::hidden) return 1 / std::sqrt(width);
    if (optimizer == OptimizerKind::sgd) return grows ? width : parameter.place == Place::output ? 1 / width : 1;
    return grows ? 1 : 1 / width;  // each weight moves by about the learning rate
}

namespace {

/// Lays out the memory of Muon.
Orthogonal add_orthogonal(Layout& layout, const ParameterBlock& block, std::span<const RateRun> runs) {
    std::int64_t largest = 1, side = 1, parts = 0;
    for (const RateRun& run : runs) {
        if (!run.orthogonal) continue;
        const Parameter& parameter = block.parameters[run.parameter];
        largest = std::max(largest, run.elements);
        for (const MatrixPart& part : matrices_of(parameter)) {
            side = std::max(side, std::min(part.rows, part.columns));
            ++parts;
        }
    }
    Orthogonal made;
    for (Tensor* matrix : {&made.direction, &made.part, &made.product}) *matrix = layout.add(Type::f32, 1, largest);
    for (Tensor* square : {&made.gram, &made.squared}) *square = layout.add(Type::f32, 1, side * side);
    for (Tensor* number : {&made.norm, &made.factor}) *number = layout.add(Type::f32, 1, 1);
    made.divisors = layout.add(Type::f32, 1, std::max<std::int64_t>(1, parts));
    for (Tensor* number : {&made.zero, &made.minus_one}) *number = layout.add_per_replica(Type::f32);
    return made;
}

/// Runs of parameters with one learning rate. Padded replicas may differ in each width.
std::vector<RateRun> rate_runs(const ParameterBlock& block, OptimizerKind optimizer, Fusion fusion) {
    const bool muon = optimizer == OptimizerKind::muon;
    if (block.base_width == 0 && !muon) return {{0, 0, block.elements, block.decayed, {}}};
    std::vector<RateRun> runs;
    std::int64_t parts = 0;
    const auto factor = [&](std::size_t index) { return rate_factor(block, block.parameters[index], optimizer); };
    for (const bool decayed : {true, false})
        for (std::size_t index = 0; index < block.parameters.size(); ++index) {
            const Parameter& parameter = block.parameters[index];
            if (parameter.decayed != decayed) continue;
            const bool orthogonal = muon && parameter.place == Place::hidden;
            const bool goes_on = fusion == Fusion::identical && !runs.empty() && !orthogonal &&
                                 !runs.back().orthogonal &&
                                 block.parameters[runs.back().parameter].decayed == decayed &&
                                 factor(runs.back().parameter) == factor(index);
            if (!goes_on) runs.push_back({index, parameter.first, 0, 0, {}});
            if (!orthogonal) continue;
            runs.back().orthogonal = parts;
            parts += static_cast<std::int64_t>(matrices_of(parameter).size());
        }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].elements = (i + 1 < runs.size() ? runs[i + 1].first : block.elements) - runs[i].first;
        if (block.parameters[runs[i].parameter].decayed) runs[i].decayed = runs[i].elements;
    }
    return runs;
}

}  // namespace

bool ranks_classes(const DataShape& shape) {
    return shape.task != Task::regression && shape.targets() == 1 && shape.outputs <= ClassTally::most_ranked;
}

namespace {

/// With the configuration's own checkpointing and micro-batches.
Result<GroupPlan> lay_out_group(const Configuration& configuration, const DataShape& shape, const SplitSizes& sizes,
                                int trials, Fusion fusion, bool little_memory = false) {
    const TrainingConfig& training = configuration.training;
    const bool padded = fusion == Fusion::padded;
    if (training.batch_size > sizes.least() && !padded)
        return Error{
            "training.batch_size: " + std::to_string(training.batch_size) + " is more than the " +
            (sizes.least() == 1 ? "one sample there is" : std::to_string(sizes.least()) + " samples there are") +
            " to train on" + (sizes.folds > 1 ? " in a fold" : "")};
    const bool augmented = training.augment_shift > 0 || training.augment_flip;
    const auto* image = std::get_if<ImageShape>(&shape.sample);
    if (augmented && !image)
        return Error{std::string(training.augment_flip ? "training.augment_flip" : "training.augment_shift") +
                     ": the data's samples are no images"};
    if (augmented && training.augment_shift >= std::min(image->height, image->width))
        return Error{"training.augment_shift: " + std::to_string(training.augment_shift) +
                     " pixels are more than images of " + std::to_string(image->height) + " x " +
                     std::to_string(image->width) + " keep anything of"};
    if (shape.task == Task::regression && training.label_smoothing > 0)
        return Error{"training.label_smoothing: is of classes, and the target is a number: leave it out"};
    if (auto weights = check_class_weights(training.class_weights, shape); !weights) return weights.error();
    auto model = make_model(configuration.all, shape);
    if (!model) return model.error();
    if (training.batch_size == 1 && (*model)->indivisible(2) > 1)
        return Error{"training.batch_size: model.norm: batch needs at least 2 samples: use another norm"};

    GroupPlan plan;
    GroupPace& pace = plan.pace;
    GroupArena& arena = plan.arena;
    ReplicaNumbers& numbers = plan.numbers;
    plan.model = *std::move(model);
    plan.task = shape.task;
    plan.shared = training;
    plan.checkpointing = training.checkpointing;
    plan.fusion = fusion;
    plan.folds = sizes.folds;
    plan.replicas = trials * plan.folds;
    if (augmented) plan.augment = {image->height, image->width, training.augment_shift, training.augment_flip};
    pace.micro_batch = configured_micro_batch(training);
    const bool short_of_memory = training.micro_batch > 0 && training.micro_batch < pace.micro_batch;
    if (short_of_memory) pace.micro_batch = training.micro_batch;
    // Trials train alike however their batches are divided.
    const std::int64_t together = plan.model->indivisible(training.batch_size);
    const std::int64_t ranks = training.ranks;
    if (together > 1 && configured_micro_batch(training) < together)
        return Error{
            (ranks > training.accumulation ? "resources.trial.processes: " : "training.accumulation: ") +
            std::to_string(std::max(ranks, training.accumulation)) + " micro-batches of a batch of " +
            std::to_string(training.batch_size) + " would divide the " + std::to_string(together) +
            " samples that model.norm: batch takes together: use a smaller model.ghost_batch, or another norm"};
    pace.micro_batch = std::min((pace.micro_batch + together - 1) / together * together, training.batch_size);
    pace.micro_batches = (training.batch_size + pace.micro_batch - 1) / pace.micro_batch;
    if (pace.micro_batches < ranks)
        return Error{"training.batch_size: a batch of " + counted(training.batch_size, "sample") + " makes " +
                     counted(pace.micro_batches, "micro-batch", "micro-batches") + " of " +
                     std::to_string(pace.micro_batch) + ", too few for the " + std::to_string(ranks) +
                     " processes of resources.trial.processes: use a multiple of " + std::to_string(ranks)};
    // Micro-batches mean that memory is short.
    const std::int64_t evaluated =
        training.accumulation > 1 || short_of_memory || little_memory ? least_evaluation_rows : evaluation_rows;
    pace.rows = std::max(pace.micro_batch, std::min(evaluated, sizes.validation));
    pace.of_trial = pace_of(training, sizes.epoch());
    pace.window = std::min(most_window, pace.of_trial.iterations_per_step);
    pace.first_window =
        std::clamp(window_samples / training.batch_size, std::int64_t{1}, std::min(first_window, pace.window));

    Layout layout(plan.replicas);
    const std::int64_t parameters = plan.model->block().elements;
    const bool two_moments = has_two_moments(training.optimizer);
    arena.weights = layout.add(Type::f32, 1, parameters);
    arena.gradient = layout.add(Type::f32, 1, parameters);
    arena.first_moment = layout.add(Type::f32, 1, parameters);
    if (two_moments) arena.second_moment = layout.add(Type::f32, 1, parameters);
    if (training.ema > 0) arena.average = layout.add(Type::f32, 1, parameters);
    plan.model->plan(layout, {pace.rows, training.precision, fusion, training.part_bytes, training.checkpointing,
                              training.batch_size});
    arena.input = layout.add(plan.model->input_type(), pace.rows, shape.features());
    arena.targets = layout.add(target_type(shape.task), pace.rows, shape.target_columns());
    plan.runs = rate_runs(plan.model->block(), training.optimizer, fusion);
    const auto runs = static_cast<std::int64_t>(plan.runs.size());
    arena.learning_rates = layout.add(Type::f32, runs, pace.window);
    arena.weight_decay = layout.add(Type::f32, 1, runs);
    if (training.optimizer == OptimizerKind::muon)
        arena.orthogonal = add_orthogonal(layout, plan.model->block(), plan.runs);
    for (Tensor* table : {&arena.losses, &arena.norms}) *table = layout.add(Type::f32, 1, pace.window);
    for (Tensor* number : {&arena.loss, &arena.norm, &arena.factor}) *number = layout.add(Type::f32, 1, 1);
    if (plan.task == Task::regression)
        arena.absolute = layout.add(Type::f32, 1, 1);
    else
        arena.correct = layout.add(Type::i32, 1, 1);
    if (training.class_weights.any()) arena.class_weights = layout.add(Type::f32, 1, shape.outputs);
    numbers.seed = layout.add_per_replica(Type::u64);
    numbers.iteration = layout.add_per_replica(Type::u32);
    for (Tensor* flag : {&numbers.alive, &numbers.by_adamw, &numbers.by_sgd, &numbers.by_lion})
        *flag = layout.add_per_replica(Type::u8);
    for (Tensor* number : {&numbers.window_index, &numbers.batch, &numbers.batch_rows})
        *number = layout.add_per_replica(Type::u32);
    for (Tensor* array : {&numbers.target_weight, &numbers.dropout, &numbers.smoothing, &numbers.no_smoothing,
                          &numbers.clip, &numbers.beta1, &numbers.beta2, &numbers.epsilon, &numbers.momentum})
        *array = layout.add_per_replica(Type::f32);
    if (plan.folds > 1) {
        for (Tensor* whole : {&numbers.fold.part, &numbers.fold.count}) *whole = layout.add_per_replica(Type::u32);
        for (Tensor* number : {&numbers.fold.scale, &numbers.fold.shift}) *number = layout.add_per_replica(Type::f32);
    }
    if (training.precision == Precision::float16) {
        for (Tensor* array : {&numbers.scaling.scale, &numbers.scaling.good})
            *array = layout.add_per_replica(Type::f32);
        numbers.scaling.valid = layout.add_per_replica(Type::u8);
    }
    if (is_staged(configuration.data.placement)) {
        const std::int64_t rows = std::max(pace.rows, training.batch_size);
        const auto before = static_cast<std::int64_t>(aligned(static_cast<std::size_t>(rows * shape.row_bytes())));
        const std::int64_t target_columns = shape.target_columns();
        for (auto& [bytes, features, targets] : arena.staged) {
            bytes = layout.add(Type::u8, 1, before + 4 * rows * target_columns);
            features = {bytes.offset, bytes.replica_stride, rows, shape.features(),
                        shape.pixels ? Type::u8 : Type::f32};
            targets = {bytes.offset + static_cast<std::size_t>(before), bytes.replica_stride, rows, target_columns,
                       target_type(shape.task)};
        }
    }
    arena.bytes = layout.bytes();
    const std::int64_t parts = plan.model->gradient_parts();
    plan.updates_in_backward = training.optimizer == OptimizerKind::adamw && runs == 1 && pace.micro_batches == 1 &&
                               !numbers.scaling.scale && pace.micro_batch <= training.backward_updates && parts > 0 &&
                               parts <= plan.model->block().decayed;

    plan.ranks = static_cast<int>(ranks);
    plan.state_elements =
        parameters * (2 + (two_moments ? 1 : 0) + (arena.average ? 1 : 0)) + (numbers.scaling.scale ? 2 : 0);
    plan.host_bytes = plan.replicas * 4 * (plan.state_elements + parameters);
    if (padded) plan.host_bytes += 2 * 4 * parameters;
    plan.ranks_classes = training.class_metrics && ranks_classes(shape);
    if (plan.ranks_classes)  // the odds, labels and order of the rows
        plan.host_bytes += std::max(plan.replicas * sizes.validation, shape.test) * (4 * shape.outputs + 4 + 8);
    if (const Tensor& batch = arena.staged[0].bytes) {
        const std::int64_t bytes = batch.all_replicas(plan.replicas).columns;
        plan.most_ahead = most_batches_ahead(training.loader_threads, training.prefetch, bytes);
        plan.host_bytes += (2 + plan.most_ahead) * bytes;
    }
    plan.flops_per_step = plan.folds * (static_cast<double>(pace.of_trial.iterations_per_step * training.batch_size) *
                                            (plan.model->forward_flops() + plan.model->backward_flops()) +
                                        static_cast<double>(sizes.validation) * plan.model->forward_flops());
    return plan;
}

/// The predicted time of an update, in operations of products at their full speed.
double cost_of(const GroupPlan& plan, const DataShape& shape) {
    const std::int64_t steps = std::max<std::int64_t>(1, shape.steps());
    const double rows = static_cast<double>(plan.pace.micro_batch * steps);
    const double flops = plan.model->forward_flops() + plan.model->backward_flops();
    return flops * (1 + plan.shared.rows_at_half_speed / rows);
}

}  // namespace

Result<GroupPlan> plan_group(const Configuration& configuration, const DataShape& shape, const SplitSizes& sizes,
                             int trials, Fusion fusion) {
    auto best = lay_out_group(configuration, shape, sizes, trials, fusion);
    if (!best || !configuration.training.automatic_checkpointing || best->pace.micro_batches == 1) return best;
    const std::size_t most_bytes = best->arena.bytes;
    const bool smallest = best->pace.micro_batch == 1;
    const std::int64_t asked = best->pace.micro_batches;
    for (const Checkpointing checkpointing : {Checkpointing::alternate, Checkpointing::every}) {
        Configuration other = configuration;
        other.training.checkpointing = checkpointing;
        other.training.micro_batch = 0;
        for (std::int64_t parts = smallest ? asked : 1;; parts = std::min(2 * parts, asked)) {
            other.training.accumulation = parts;
            auto plan = lay_out_group(other, shape, sizes, trials, fusion, true);
            if (!plan) return plan;
            const bool better = smallest
                                    ? plan->arena.bytes < best->arena.bytes
                                    : plan->arena.bytes <= most_bytes && cost_of(*plan, shape) < cost_of(*best, shape);
            if (better) best = std::move(plan);
            if (parts == asked) break;
        }
    }
    best->shared.accumulation = configuration.training.accumulation;
    best->pace.asked_micro_batches = asked;
    return best;
}

std::string checkpointing_text(const GroupPlan& plan) {
    if (!plan.shared.automatic_checkpointing) return {};
    std::string text = "checkpointing: auto: ";
    if (plan.checkpointing == Checkpointing::none)
        return text + (plan.pace.asked_micro_batches > 1
                           ? "all activations are kept, since smaller micro-batches cost less"
                           : "all activations are kept, since there is memory for them");
    text += "activations of every ";
    text += plan.checkpointing == Checkpointing::alternate ? "second block" : "block";
    return text + " are computed again, in " + counted(plan.pace.micro_batches, "micro-batch", "micro-batches") +
           " in place of " + std::to_string(plan.pace.asked_micro_batches);
}

}  // namespace hpo
