// The CPU's operations on images: convolutions, group norm and pooling.
#include <array>

#include "worker/backends/cpu/cpu_stream.hpp"
#include "worker/backends/cpu/products.hpp"

namespace hpo {

namespace {

PatchSizes sizes_of(const Patches& p) {
    return {p.height, p.width, p.channels, p.kernel, p.stride, p.out_height(), p.out_width()};
}

}  // namespace

void CpuStream::compute(const Unfold& arguments) {
    const auto& [patches, input, output] = arguments;
    assert(patches.kernel % 2 == 1 && input.columns == patches.channels && output.columns == patches.elements());
    assert(input.rows / patches.in_pixels() == output.rows / patches.out_pixels());
    const std::int64_t from = patches.in_pixels() * input.columns, to = patches.out_pixels() * output.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(output.rows / patches.out_pixels(), to, [&](std::int64_t first, std::int64_t images) {
            kernels_.unfold(images, sizes_of(patches), at(input, replica) + first * from,
                            at(output, replica) + first * to);
        });
}

void CpuStream::compute(const Fold& arguments) {
    const auto& [patches, input, output] = arguments;
    assert(patches.kernel % 2 == 1 && output.columns == patches.channels && input.columns == patches.elements());
    assert(output.rows / patches.in_pixels() == input.rows / patches.out_pixels());
    const std::int64_t from = patches.out_pixels() * input.columns, to = patches.in_pixels() * output.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(input.rows / patches.out_pixels(), from, [&](std::int64_t first, std::int64_t images) {
            kernels_.fold(images, sizes_of(patches), at(input, replica) + first * from,
                          at(output, replica) + first * to);
        });
}

void CpuStream::compute(const Convolve& arguments) {
    const auto& [patches, input, weight, output, workspace] = arguments;
    assert(patches.kernel % 2 == 1 && input.columns == patches.channels && output.columns == weight.rows);
    assert(weight.columns == patches.elements());
    assert(workspace.elements() >= convolution_workspace(patches, output.columns));
    const std::int64_t from = patches.in_pixels() * input.columns, to = patches.out_pixels() * output.columns;
    for (int replica = first_; replica < end_; ++replica) {
        const std::int64_t images = output.rows / patches.out_pixels();
        const auto compute = [&](std::int64_t first, std::int64_t count) {
            kernels_.convolve(count, sizes_of(patches), output.columns, at(input, replica) + first * from,
                              at(weight, replica), at(output, replica) + first * to,
                              workspace_of_thread(workspace, replica));
        };
        if (convolving_threads(workspace) == 1)
            compute(0, images);
        else
            share(images, to * patches.elements(), compute);
    }
}

/// Returns the number of threads that convolve: each but the calling one has a workspace that no plan contains, so that
/// wide convolutions have one thread.
int CpuStream::convolving_threads(const Tensor& workspace) const {
    constexpr std::size_t most_bytes = std::size_t{16} << 20;
    const auto threads = static_cast<std::size_t>(threads_.threads());
    return threads * workspace.bytes() <= most_bytes ? threads_.threads() : 1;
}

/// Several threads cannot share the tensor.
float* CpuStream::workspace_of_thread(const Tensor& workspace, int replica) const {
    if (convolving_threads(workspace) == 1) return at(workspace, replica);
    thread_local std::vector<float> own;
    own.resize(std::max(own.size(), static_cast<std::size_t>(workspace.elements())));
    return own.data();
}

void CpuStream::compute(const ConvolveBackward& arguments) {
    const Patches& patches = arguments.patches;
    const Tensor& gradient = arguments.output_gradient;
    assert(arguments.weight.rows == gradient.columns && arguments.weight.columns == patches.elements());
    assert(arguments.workspace.elements() >= convolution_workspace(patches, gradient.columns));
    for (int replica = first_; replica < end_; ++replica) {
        prepare(arguments.weight_gradient, replica, arguments.write);
        const std::int64_t images = gradient.rows / patches.out_pixels();
        const std::int64_t from = patches.out_pixels() * gradient.columns, to = patches.in_pixels() * patches.channels;
        float* const below = at(arguments.input_gradient, replica);
        const auto compute = [&](std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end,
                                 float* its_below) {
            kernels_.convolve_backward(count, sizes_of(patches), gradient.columns, at(gradient, replica) + first * from,
                                       at(arguments.input, replica) + first * to, at(arguments.weight, replica), begin,
                                       end, at(arguments.weight_gradient, replica), its_below,
                                       workspace_of_thread(arguments.workspace, replica));
        };
        // One thread computes both gradients of an image while it is in the cache. Several cut that of the weights by
        // elements, so that none needs sums of its own.
        const int threads = convolving_threads(arguments.workspace);
        if (threads == 1) {
            compute(0, images, 0, patches.elements(), below);
            continue;
        }
        threads_.run(threads, [&](int part) {
            compute(0, images, patches.elements() * part / threads, patches.elements() * (part + 1) / threads, nullptr);
        });
        if (below)
            share(images, from * patches.elements(),
                  [&](std::int64_t first, std::int64_t count) { compute(first, count, 0, 0, below + first * to); });
    }
}

void CpuStream::compute(const GroupNorm& arguments) {
    const Tensor& input = arguments.input;
    assert(arguments.groups <= GroupNorm::most_groups && input.columns % arguments.groups == 0);
    assert(arguments.mean.rows * arguments.pixels == input.rows && arguments.mean.columns == arguments.groups);
    const std::int64_t of_sample = arguments.pixels * input.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(input.rows / arguments.pixels, of_sample, [&](std::int64_t first, std::int64_t samples) {
            kernels_.group_norm(samples, arguments.pixels, input.columns, arguments.groups,
                                at(input, replica) + first * of_sample, at(arguments.scale, replica),
                                at(arguments.shift, replica), at(arguments.output, replica) + first * of_sample,
                                at(arguments.mean, replica) + first * arguments.groups,
                                at(arguments.rstd, replica) + first * arguments.groups, arguments.epsilon);
        });
}

void CpuStream::compute(const GroupNormBackward& arguments) {
    const Tensor& gradient = arguments.gradient;
    for (int replica = first_; replica < end_; ++replica) {
        for (const Tensor* target : {&arguments.scale_gradient, &arguments.shift_gradient}) {
            assert(target->elements() == gradient.columns);
            prepare(*target, replica, arguments.write);
        }
        const std::int64_t of_sample = arguments.pixels * gradient.columns;
        share_and_add<2>(gradient.rows / arguments.pixels, of_sample, gradient.columns,
                         {at(arguments.scale_gradient, replica), at(arguments.shift_gradient, replica)},
                         [&](std::int64_t first, std::int64_t samples, const std::array<float*, 2>& sums) {
                             kernels_.group_norm_backward(samples, arguments.pixels, gradient.columns, arguments.groups,
                                                          at(gradient, replica) + first * of_sample,
                                                          at(arguments.input, replica) + first * of_sample,
                                                          at(arguments.mean, replica) + first * arguments.groups,
                                                          at(arguments.rstd, replica) + first * arguments.groups,
                                                          at(arguments.scale, replica), sums[0], sums[1]);
                         });
    }
}

void CpuStream::compute(const MeanPixels& arguments) {
    const auto& [input, output] = arguments;
    assert(input.columns == output.columns && input.rows % output.rows == 0);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.mean_pixels(output.rows, input.rows / output.rows, input.columns, at(input, replica),
                             at(output, replica));
}

void CpuStream::compute(const MeanPixelsBackward& arguments) {
    const auto& [output, input] = arguments;
    assert(input.columns == output.columns && input.rows % output.rows == 0);
    for (int replica = first_; replica < end_; ++replica)
        kernels_.mean_pixels_backward(output.rows, input.rows / output.rows, input.columns, at(output, replica),
                                      at(input, replica));
}

void CpuStream::compute(const MaxPixels& arguments) {
    const auto& [height, width, input, output] = arguments;
    const std::int64_t images = input.rows / (height * width);
    assert(input.columns == output.columns && output.rows == images * arguments.out_pixels());
    const std::int64_t from = height * width * input.columns, to = arguments.out_pixels() * input.columns;
    for (int replica = first_; replica < end_; ++replica)
        share(images, from, [&](std::int64_t first, std::int64_t count) {
            kernels_.max_pixels(count, height, width, input.columns, at(input, replica) + first * from,
                                at(output, replica) + first * to);
        });
}

void CpuStream::compute(const MaxPixelsBackward& arguments) {
    const auto& [forward, output_gradient, input_gradient] = arguments;
    const std::int64_t images = forward.input.rows / (forward.height * forward.width);
    assert(input_gradient.elements() == forward.input.elements());
    assert(output_gradient.rows == images * forward.out_pixels());
    const std::int64_t columns = forward.input.columns;
    const std::int64_t of_input = forward.height * forward.width * columns, of_output = forward.out_pixels() * columns;
    for (int replica = first_; replica < end_; ++replica)
        share(images, of_input, [&](std::int64_t first, std::int64_t count) {
            kernels_.max_pixels_backward(
                count, forward.height, forward.width, columns, at(forward.input, replica) + first * of_input,
                at(output_gradient, replica) + first * of_output, at(input_gradient, replica) + first * of_input);
        });
}

}  // namespace hpo
