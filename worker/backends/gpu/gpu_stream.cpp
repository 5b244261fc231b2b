#include "worker/backends/gpu/gpu_stream.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace hpo::gpu {
namespace {

std::size_t start_of(const Tensor& tensor, int replica) {
    return tensor.offset + static_cast<std::size_t>(replica) * tensor.replica_stride;
}

/// RoundArguments::rounds of an operation that writes this tensor.
u32 rounds_to(const Tensor& tensor) {
    switch (tensor.type) {
        case Type::bf16:
            return static_cast<u32>(Precision::bfloat16);
        case Type::f16:
            return static_cast<u32>(Precision::float16);
        default:
            return 0;
    }
}

}  // namespace

GpuStream::~GpuStream() {
    try {
        runtime_.synchronise();
    } catch (const std::exception&) {  // the device is lost, and the next call to it reports that
    }
}

void GpuStream::check(const Tensor& tensor) const {
    assert(start_of(tensor, first_replica_ + replicas_ - 1) + tensor.bytes() <= arena_.bytes());
    (void)tensor;
}

TensorRef GpuStream::ref(const Tensor& tensor) const {
    if (!tensor) return {ABSENT, 0};
    check(tensor);
    return {start_of(tensor, first_replica_), tensor.replica_stride};
}

ExtentArguments GpuStream::ref(const Extent& extent) const {
    return {ref(extent.batch), ref(extent.rows), extent.micro_batch, extent.rows_per_sample};
}

DropoutArguments GpuStream::ref(const Dropout& dropout) const {
    if (!dropout.probability) return {{ABSENT, 0}, {ABSENT, 0}, {ABSENT, 0}, {ABSENT, 0}, ref(Extent{}), 0};
    return {.probability = ref(dropout.probability),
            .seed = ref(dropout.seed),
            .iteration = ref(dropout.iteration),
            .mask = ref(dropout.mask),
            .extent = ref(dropout.extent),
            .site = dropout.site};
}

UpdateArguments GpuStream::ref(const Update& update) const {
    return {.weights = ref(update.weights),
            .gradient = ref(update.gradient),
            .learning_rates = ref(update.learning_rates),
            .window_index = ref(update.window_index),
            .weight_decay = ref(update.weight_decay),
            .factor = ref(update.factor),
            .alive = ref(update.alive),
            .valid = ref(update.valid),
            .rounded = ref(update.rounded),
            .count = update.weights.elements(),
            .decayed = update.decayed,
            .rounds = rounds_to(update.rounded)};
}

AdamWArguments GpuStream::ref(const AdamW& adamw) const {
    return {.update = ref(adamw.update),
            .first_moment = ref(adamw.first_moment),
            .second_moment = ref(adamw.second_moment),
            .beta1 = ref(adamw.beta1),
            .beta2 = ref(adamw.beta2),
            .epsilon = ref(adamw.epsilon),
            .iteration = ref(adamw.iteration)};
}

void GpuStream::write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) {
    assert(data.size() == to.bytes() && start_of(to, replica) + to.bytes() <= arena_.bytes());
    if (!data.empty()) runtime_.write(arena_.memory(), start_of(to, replica), data.data(), data.size());
}

void GpuStream::read_bytes(const Tensor& from, int replica, std::span<std::byte> data) {
    assert(data.size() == from.bytes() && start_of(from, replica) + from.bytes() <= arena_.bytes());
    if (!data.empty()) runtime_.read(arena_.memory(), start_of(from, replica), data.data(), data.size());
}

void GpuStream::compute(const Fill& arguments) {
    const auto& [to, value] = arguments;
    launch(Kernel::fill, groups_of_items(to.elements()), FillArguments{ref(to), to.elements(), value});
}

void GpuStream::compute(const Copy& arguments) {
    const auto& [from, to] = arguments;
    assert(from.elements() == to.elements() && from.type == to.type);
    for (int replica = first_replica_; replica < first_replica_ + replicas_; ++replica)
        runtime_.copy(arena_.memory(), start_of(from, replica), arena_.memory(), start_of(to, replica), from.bytes());
}

void GpuStream::copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) {
    assert(from.replica_stride == to.replica_stride && from.elements() == to.elements() && from.type == to.type);
    runtime_.copy(static_cast<const GpuBuffer&>(arena).memory(), start_of(from, first_replica_), arena_.memory(),
                  start_of(to, first_replica_), bytes_of_selected(from));
}

void GpuStream::compute(const Add& arguments) {
    const auto& [from, to] = arguments;
    assert(from.elements() == to.elements());
    launch(Kernel::add, groups_of_items(to.elements()), AddArguments{ref(from), ref(to), to.elements()});
}

void GpuStream::compute(const Initialise& arguments) {
    const auto& [to, bound, seed, site] = arguments;
    launch(Kernel::initialise, groups_of_items(divide_up(to.elements(), 4)),
           InitialiseArguments{
               .to = ref(to), .seed = ref(seed), .count = to.elements(), .site = site, .unit = bound * 0x1.0p-23F});
}

void GpuStream::compute(const Gather& arguments) {
    const Samples& samples = arguments.samples;
    const Tensor& output = arguments.output;
    const Augment& augment = arguments.augment;
    const Extent& extent = arguments.extent;
    assert(augment.height == 0 || extent.limits_rows());
    assert(output.columns == samples.features.columns && arguments.targets.rows == output.rows);
    assert(extent.limits_rows() || arguments.first + output.rows <= samples.count);
    assert(arguments.targets.columns == samples.targets.columns && size_of(samples.targets.type) == 4);
    const auto lying = [&](const Tensor& tensor) {
        if (!tensor) return TensorRef{ABSENT, 0};
        return samples.staged ? ref(tensor) : TensorRef{tensor.offset, tensor.replica_stride};
    };
    const Gather::Fold& fold = arguments.fold;
    launch(samples.features.type == Type::u8 ? Kernel::gather_u8 : Kernel::gather_f32,
           divide_up(output.rows, SUBGROUPS),
           GatherArguments{.features = lying(samples.features),
                           .sample_targets = lying(samples.targets),
                           .sample_rows = samples.staged ? TensorRef{ABSENT, 0} : lying(samples.rows),
                           .part = ref(fold.part),
                           .part_count = ref(fold.count),
                           .part_scale = ref(fold.scale),
                           .part_shift = ref(fold.shift),
                           .output = ref(output),
                           .targets = ref(arguments.targets),
                           .seed = ref(arguments.seed),
                           .iteration = ref(arguments.iteration),
                           .extent = ref(extent),
                           .count = word(samples.count),
                           .first = word(arguments.first),
                           .staged = samples.staged ? 1U : 0U,
                           .rows = word(output.rows),
                           .columns = word(output.columns),
                           .target_columns = word(arguments.targets.columns),
                           .height = word(augment.height),
                           .width = word(augment.width),
                           .most_shift = word(augment.shift),
                           .flip = augment.flip ? 1U : 0U,
                           .scale = samples.scale,
                           .shift = samples.shift,
                           .rounds = rounds_to(output),
                           .unused = 0},
           static_cast<const GpuBuffer*>(samples.buffer)->memory());
}

void GpuStream::compute(const Round& arguments) {
    const auto& [from, to] = arguments;
    assert(to.elements() == from.elements());
    launch(Kernel::round_operand, divide_up(from.elements(), UPDATE_ELEMENTS),
           RoundArguments{ref(from), ref(to), from.elements(), rounds_to(to)});
}

void GpuStream::compute(const Activate& arguments) {
    const auto& [activation, pre, bias, output, dropout, activations, skipped] = arguments;
    assert(!skipped || (skipped.elements() == output.elements() && output.type == Type::f32));
    assert(pre.elements() == output.elements() && (!bias || bias.elements() == pre.columns));
    assert(pre.offset != output.offset ||
           (!activations && (activation == Activation::none || activation == Activation::relu)));
    launch(Kernel::activate, groups_of_items(pre.rows * divide_up(pre.columns, 128) * 16),
           ActivateArguments{.pre = ref(pre),
                             .bias = ref(bias),
                             .output = ref(output),
                             .activations = ref(activations),
                             .skipped = ref(skipped),
                             .dropout = ref(dropout),
                             .rows = word(pre.rows),
                             .columns = word(pre.columns),
                             .activation = static_cast<u32>(activation),
                             .rounds = rounds_to(output)});
}

void GpuStream::compute(const ActivateBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    assert(gradient.type == Type::f32 || arguments.incoming);
    const u32 parts = row_parts(gradient.rows, gradient.columns);
    launch(Kernel::activate_backward, divide_up(gradient.columns, SUBGROUP_SIZE) * parts,
           ActivateBackwardArguments{.gradient = ref(gradient),
                                     .pre = ref(arguments.pre),
                                     .output = ref(arguments.output),
                                     .bias_gradient = ref(arguments.bias_gradient),
                                     .activations = ref(arguments.activations),
                                     .incoming = ref(arguments.incoming ? arguments.incoming : gradient),
                                     .dropout = ref(arguments.dropout),
                                     .rows = word(gradient.rows),
                                     .columns = word(gradient.columns),
                                     .activation = static_cast<u32>(arguments.activation),
                                     .add = arguments.write == Write::add,
                                     .rounds = rounds_to(gradient),
                                     .parts = parts});
    add_column_totals(arguments.bias_gradient, {}, gradient.columns, parts, arguments.write);
}

/// Adds up the sums of the parts of the rows in the workspace; a single part leaves none.
void GpuStream::add_column_totals(const Tensor& first, const Tensor& second, std::int64_t columns, u32 parts,
                                  Write write) {
    if (parts == 1 || !first) return;
    launch(Kernel::column_totals, divide_up(columns, SUBGROUP_SIZE),
           ColumnTotalsArguments{.first = ref(first),
                                 .second = ref(second),
                                 .columns = word(columns),
                                 .parts = parts,
                                 .add = write == Write::add,
                                 .unused = 0});
}

void GpuStream::compute(const LayerNorm& arguments) {
    const Tensor& input = arguments.input;
    launch(Kernel::layer_norm, divide_up(input.rows, SUBGROUPS),
           LayerNormArguments{.input = ref(input),
                              .bias = ref(arguments.bias),
                              .scale = ref(arguments.scale),
                              .shift = ref(arguments.shift),
                              .output = ref(arguments.output),
                              .mean = ref(arguments.mean),
                              .rstd = ref(arguments.rstd),
                              .valid_columns = ref(arguments.extent.columns),
                              .rows = word(input.rows),
                              .columns = word(input.columns),
                              .centred = arguments.centred,
                              .epsilon = arguments.epsilon});
}

void GpuStream::compute(const LayerNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    const bool add = arguments.write == Write::add;
    const u32 parts = row_parts(gradient.rows, gradient.columns);
    const LayerNormBackwardArguments both{.gradient = ref(gradient),
                                          .input = ref(arguments.input),
                                          .mean = ref(arguments.mean),
                                          .rstd = ref(arguments.rstd),
                                          .scale = ref(arguments.scale),
                                          .scale_gradient = ref(arguments.scale_gradient),
                                          .shift_gradient = ref(arguments.shift_gradient),
                                          .skipped_gradient = ref(arguments.skipped_gradient),
                                          .valid_columns = ref(arguments.extent.columns),
                                          .rows = word(gradient.rows),
                                          .columns = word(gradient.columns),
                                          .centred = arguments.centred,
                                          .add = add,
                                          .parts = parts,
                                          .unused = 0};
    launch(Kernel::layer_norm_backward_columns, divide_up(gradient.columns, SUBGROUP_SIZE) * parts, both);
    add_column_totals(arguments.scale_gradient, arguments.shift_gradient, gradient.columns, parts, arguments.write);
    launch(Kernel::layer_norm_backward_rows, divide_up(gradient.rows, SUBGROUPS), both);
    if (!arguments.bias_gradient) return;
    ActivateBackward sums;  // without an activation this computes the sums of the columns
    sums.gradient = gradient;
    sums.bias_gradient = arguments.bias_gradient;
    sums.write = arguments.write;
    compute(sums);
}

void GpuStream::repeat(std::uint64_t name, const std::function<void()>& operations) {
    const auto known = std::find_if(repeated_.begin(), repeated_.end(), [&](const Repeated& one) {
        return one.name == name && one.first_replica == first_replica_ && one.replicas == replicas_;
    });
    // The first execution loads code and chooses algorithms, which cannot be recorded.
    if (known == repeated_.end()) {
        repeated_.push_back({name, first_replica_, replicas_, nullptr});
        return operations();
    }
    if (!known->recording && !known->refused) {
        if (runtime_.begin_recording()) {
            operations();
            known->recording = runtime_.end_recording();
        }
        known->refused = !known->recording;
    }
    if (known->refused) return operations();
    runtime_.replay(*known->recording);
}

}  // namespace hpo::gpu
