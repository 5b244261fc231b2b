// A GPU's operations of models over images.
#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

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

}  // namespace hpo::gpu
