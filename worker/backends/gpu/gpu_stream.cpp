#include "worker/backends/gpu/gpu_stream.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <new>
#include <utility>

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

void GpuStream::multiply(Form form, const Tensor& a, const Tensor& b, const Tensor& c, const Sizes& sizes, Write write,
                         Precision precision) {
    const MultiplyArguments arguments{.a = ref(a),
                                      .b = ref(b),
                                      .c = ref(c),
                                      .m = word(sizes.m),
                                      .n = word(sizes.n),
                                      .k = word(sizes.k),
                                      .add = write == Write::add,
                                      .precision = static_cast<u32>(precision)};
    if (runtime_.multiply(arena_.memory(), form, arguments, replicas_)) return;
    constexpr Kernel kernels[][2] = {{Kernel::multiply, Kernel::multiply_rounded},
                                     {Kernel::multiply_by_transposed, Kernel::multiply_by_transposed_rounded},
                                     {Kernel::multiply_transposed, Kernel::multiply_transposed_rounded}};
    const bool rounded = operand_type(precision) != Type::f32;
    launch(kernels[static_cast<int>(form)][rounded ? 1 : 0], divide_up(sizes.m, TILE) * divide_up(sizes.n, TILE),
           arguments);
}

void GpuStream::compute(const Round& arguments) {
    const auto& [from, to] = arguments;
    assert(to.elements() == from.elements());
    launch(Kernel::round_operand, divide_up(from.elements(), UPDATE_ELEMENTS),
           RoundArguments{ref(from), ref(to), from.elements(), rounds_to(to)});
}

void GpuStream::compute(const Linear& arguments) {
    const auto& [input, weight, output, precision] = arguments;
    assert(input.columns == weight.columns && output.rows == input.rows && output.columns == weight.rows);
    assert(input.type == operand_type(precision) && weight.type == input.type);
    multiply(Form::by_transposed, input, weight, output, {input.rows, weight.rows, input.columns}, Write::set,
             precision);
}

void GpuStream::compute(const LinearBackward& arguments) {
    const Precision precision = arguments.precision;
    const Tensor& gradient = arguments.output_gradient;
    const Tensor& input = arguments.input;
    const Tensor& weight = arguments.weight;
    assert(gradient.rows == input.rows && gradient.columns == weight.rows && input.columns == weight.columns);
    assert(gradient.type == operand_type(precision) && weight.type == gradient.type);
    assert(input.type == gradient.type || (!arguments.weight_gradient && !arguments.adamw));
    if (arguments.weight_gradient && !arguments.adamw) {
        assert(arguments.weight_gradient.elements() == weight.elements());
        multiply(Form::transposed, gradient, input, arguments.weight_gradient,
                 {weight.rows, weight.columns, input.rows}, arguments.write, precision);
    }
    if (arguments.input_gradient) {
        assert(arguments.input_gradient.elements() == input.elements());
        multiply(Form::plain, gradient, weight, arguments.input_gradient, {input.rows, weight.columns, weight.rows},
                 Write::set, precision);
    }
    if (!arguments.adamw) return;
    // Last, since the input's gradient is computed with the weights as they were.
    static_assert(gradient_parts(TILE, TILE) == 1 && gradient_parts(TILE + 1, TILE) == 2);
    const std::int64_t parts = gradient_parts(weight.rows, weight.columns);
    assert(arguments.roots.elements() == parts && arguments.adamw->update.weights.elements() == weight.elements());
    const bool narrow = operand_type(precision) != Type::f32;
    assert(!narrow || arguments.adamw->update.rounded.offset == weight.offset);
    launch(narrow ? Kernel::multiply_and_adamw_rounded : Kernel::multiply_and_adamw, parts,
           MultiplyAndAdamWArguments{{ref(gradient),
                                      ref(input),
                                      {ABSENT, 0},
                                      word(weight.rows),
                                      word(weight.columns),
                                      word(input.rows),
                                      0,
                                      static_cast<u32>(precision)},
                                     ref(*arguments.adamw),
                                     ref(arguments.roots)});
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

namespace {

PatchArguments sizes_of(const Patches& p) {
    return {word(p.height), word(p.width),        word(p.channels),    word(p.kernel),
            word(p.stride), word(p.out_height()), word(p.out_width()), 0};
}

}  // namespace

void GpuStream::compute(const Unfold& arguments) {
    const auto& [patches, input, output] = arguments;
    assert(patches.kernel % 2 == 1 && input.columns == patches.channels && output.columns == patches.elements());
    assert(input.rows / patches.in_pixels() == output.rows / patches.out_pixels());
    launch(Kernel::unfold, groups_of_items(output.elements()),
           UnfoldArguments{ref(input), ref(output), sizes_of(patches), output.elements()});
}

void GpuStream::compute(const Fold& arguments) {
    const auto& [patches, input, output] = arguments;
    assert(patches.kernel % 2 == 1 && output.columns == patches.channels && input.columns == patches.elements());
    assert(output.rows / patches.in_pixels() == input.rows / patches.out_pixels());
    launch(Kernel::fold, groups_of_items(output.elements()),
           UnfoldArguments{ref(input), ref(output), sizes_of(patches), output.elements()});
}

// Products of unfolded patches are faster here: see Stream::convolves.
void GpuStream::compute(const Convolve& /*arguments*/) { assert(false); }
void GpuStream::compute(const ConvolveBackward& /*arguments*/) { assert(false); }

void GpuStream::compute(const GroupNorm& arguments) {
    const Tensor& input = arguments.input;
    assert(arguments.groups <= GroupNorm::most_groups && input.columns % arguments.groups == 0);
    const std::int64_t samples = input.rows / arguments.pixels;
    launch(Kernel::group_norm, samples * arguments.groups,
           GroupNormArguments{.input = ref(input),
                              .scale = ref(arguments.scale),
                              .shift = ref(arguments.shift),
                              .output = ref(arguments.output),
                              .mean = ref(arguments.mean),
                              .rstd = ref(arguments.rstd),
                              .pixels = word(arguments.pixels),
                              .channels = word(input.columns),
                              .groups = word(arguments.groups),
                              .epsilon = arguments.epsilon});
}

void GpuStream::compute(const GroupNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    const std::int64_t samples = gradient.rows / arguments.pixels;
    assert(arguments.sums.elements() >= samples * 2 * gradient.columns);
    const GroupNormBackwardArguments all{.gradient = ref(gradient),
                                         .input = ref(arguments.input),
                                         .mean = ref(arguments.mean),
                                         .rstd = ref(arguments.rstd),
                                         .scale = ref(arguments.scale),
                                         .scale_gradient = ref(arguments.scale_gradient),
                                         .shift_gradient = ref(arguments.shift_gradient),
                                         .sums = ref(arguments.sums),
                                         .samples = word(samples),
                                         .pixels = word(arguments.pixels),
                                         .channels = word(gradient.columns),
                                         .groups = word(arguments.groups),
                                         .add = arguments.write == Write::add};
    const std::int64_t columns = divide_up(gradient.columns, SUBGROUP_SIZE);
    launch(Kernel::group_norm_backward_sums, samples * columns, all);
    launch(Kernel::group_norm_backward_parameters, columns, all);
    launch(Kernel::group_norm_backward_input, samples * arguments.groups, all);
}

void GpuStream::compute(const MeanPixels& arguments) {
    const auto& [input, output] = arguments;
    assert(input.columns == output.columns && input.rows % output.rows == 0);
    launch(Kernel::mean_pixels, groups_of_items(output.elements()),
           MeanPixelsArguments{.input = ref(input),
                               .output = ref(output),
                               .samples = word(output.rows),
                               .pixels = word(input.rows / output.rows),
                               .channels = word(input.columns)});
}

void GpuStream::compute(const MeanPixelsBackward& arguments) {
    const auto& [output, input] = arguments;
    assert(input.columns == output.columns && input.rows % output.rows == 0);
    launch(Kernel::mean_pixels_backward, groups_of_items(input.elements()),
           MeanPixelsArguments{.input = ref(input),
                               .output = ref(output),
                               .samples = word(output.rows),
                               .pixels = word(input.rows / output.rows),
                               .channels = word(input.columns)});
}

void GpuStream::compute(const MaxPixels& arguments) {
    const auto& [height, width, input, output] = arguments;
    assert(input.columns == output.columns);
    assert(output.rows == input.rows / (height * width) * arguments.out_pixels());
    launch(Kernel::max_pixels, groups_of_items(output.elements()),
           MaxPixelsArguments{.input = ref(input),
                              .output = ref(output),
                              .input_gradient = {ABSENT, 0},
                              .count = output.elements(),
                              .height = word(height),
                              .width = word(width),
                              .channels = word(input.columns),
                              .unused = 0});
}

void GpuStream::compute(const MaxPixelsBackward& arguments) {
    const auto& [forward, output_gradient, input_gradient] = arguments;
    assert(input_gradient.elements() == forward.input.elements());
    launch(Kernel::max_pixels_backward, groups_of_items(input_gradient.elements()),
           MaxPixelsArguments{.input = ref(forward.input),
                              .output = ref(output_gradient),
                              .input_gradient = ref(input_gradient),
                              .count = input_gradient.elements(),
                              .height = word(forward.height),
                              .width = word(forward.width),
                              .channels = word(forward.input.columns),
                              .unused = 0});
}

/// `first` leaves sums of `parts` work-groups.
void GpuStream::each_cross_entropy(const CrossEntropy& arguments, Kernel first, u32 parts) {
    const Tensor& logits = arguments.logits;
    assert(arguments.labels.rows == logits.rows);
    const CrossEntropyArguments both{.logits = ref(logits),
                                     .labels = ref(arguments.labels),
                                     .smoothing = ref(arguments.smoothing),
                                     .loss = ref(arguments.loss),
                                     .correct = ref(arguments.correct),
                                     .gradient = ref(arguments.gradient),
                                     .scale = ref(arguments.scale),
                                     .weights = ref(arguments.weights),
                                     .class_weights = ref(arguments.class_weights),
                                     .extent = ref(arguments.extent),
                                     .rows = word(logits.rows),
                                     .columns = word(logits.columns),
                                     .parts = parts,
                                     .add = arguments.write == Write::add,
                                     .weight = arguments.weight};
    launch(first, parts, both);
    launch(Kernel::cross_entropy_total, 1, both);
}

void GpuStream::compute(const CrossEntropy& arguments) {
    assert(arguments.labels.columns == 1);
    each_cross_entropy(arguments, Kernel::cross_entropy_rows, parts_of(divide_up(arguments.logits.rows, SUBGROUPS)));
}

void GpuStream::compute(const BinaryCrossEntropy& arguments) {
    assert(arguments.labels.columns == arguments.logits.columns);
    each_cross_entropy(arguments, Kernel::binary_cross_entropy_parts,
                       parts_of(divide_up(arguments.logits.elements(), UPDATE_ELEMENTS)));
}

void GpuStream::compute(const SquaredError& arguments) {
    const Tensor& predictions = arguments.predictions;
    assert(arguments.targets.elements() == predictions.elements());
    const u32 parts = parts_of(divide_up(predictions.elements(), UPDATE_ELEMENTS));
    const SquaredErrorArguments both{.predictions = ref(predictions),
                                     .targets = ref(arguments.targets),
                                     .loss = ref(arguments.loss),
                                     .absolute = ref(arguments.absolute),
                                     .gradient = ref(arguments.gradient),
                                     .scale = ref(arguments.scale),
                                     .weights = ref(arguments.weights),
                                     .extent = ref(arguments.extent),
                                     .rows = word(predictions.rows),
                                     .columns = word(predictions.columns),
                                     .parts = parts,
                                     .add = arguments.write == Write::add,
                                     .weight = arguments.weight};
    launch(Kernel::squared_error_parts, parts, both);
    launch(Kernel::squared_error_total, 1, both);
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

namespace {

class GpuStage final : public Stage {
   public:
    GpuStage(Runtime& runtime, Memory arena, std::size_t bytes) : runtime_(runtime), arena_(arena), bytes_(bytes) {
        for (Part& part : parts_) {
            part.data = runtime_.allocate_host(bytes);
            if (!part.data) throw std::bad_alloc();
        }
    }
    ~GpuStage() override {
        for (Part& part : parts_) {
            for (const Fence fence : {part.sent, part.awaited, part.free})
                if (fence != 0) runtime_.forget(fence);
            if (part.data) runtime_.release_host(part.data);
        }
    }
    GpuStage(const GpuStage&) = delete;
    GpuStage& operator=(const GpuStage&) = delete;

    std::span<std::byte> next() override {
        Part& part = parts_[next_part_];
        if (part.sent != 0) runtime_.wait(std::exchange(part.sent, 0));
        if (part.awaited != 0) runtime_.forget(std::exchange(part.awaited, 0));
        return {part.data, bytes_};
    }
    void send(const Tensor& to) override {
        Part& part = parts_[next_part_];
        assert(part.sent == 0 && to.bytes() <= bytes_);
        // The operations that read the other part's target have been enqueued by now.
        parts_[1 - next_part_].free = runtime_.mark();
        part.awaited = part.free != 0 ? std::exchange(part.free, 0) : runtime_.mark();
        part.sent = runtime_.send(arena_, to.offset, part.data, to.bytes(), part.awaited);
        next_part_ = 1 - next_part_;
    }

   private:
    struct Part {
        std::byte* data = nullptr;
        Fence sent = 0;     ///< behind its copy; 0: there is none on its way
        Fence free = 0;     ///< behind the operations that read the target of its last copy
        Fence awaited = 0;  ///< by the copy on its way
    };
    Runtime& runtime_;
    Memory arena_;
    std::size_t bytes_;
    std::array<Part, 2> parts_{};
    std::size_t next_part_ = 0;
};

}  // namespace

std::unique_ptr<Stage> GpuStream::stage(std::size_t bytes) {
    return std::make_unique<GpuStage>(runtime_, arena_.memory(), bytes);
}

}  // namespace hpo::gpu
