// Convolutions of images. Everything that backend.hpp says of operations holds for these.
#pragma once

#include <cstdint>

#include "worker/backends/tensor.hpp"
#include "worker/backends/work.hpp"

namespace hpo {

/// The geometry of a square kernel that moves over images: rows of pixels, channels last. Half a kernel of zeros,
/// rounded down, lies around each image, so that a stride of 1 keeps its height and width.
struct Patches {
    std::int64_t height = 0;    ///< pixels of the input
    std::int64_t width = 0;     ///< pixels of the input
    std::int64_t channels = 0;  ///< of the input
    std::int64_t kernel = 3;    ///< pixels of a side; odd
    std::int64_t stride = 1;    ///< pixels between neighbouring patches

    [[nodiscard]] std::int64_t out_height() const { return (height - 1) / stride + 1; }
    [[nodiscard]] std::int64_t out_width() const { return (width - 1) / stride + 1; }
    [[nodiscard]] std::int64_t in_pixels() const { return height * width; }
    [[nodiscard]] std::int64_t out_pixels() const { return out_height() * out_width(); }
    [[nodiscard]] std::int64_t elements() const { return kernel * kernel * channels; }  ///< of a patch
};

/// Copies the patch around each pixel of the output into a row, so that a convolution becomes a matrix product
/// (Chellapilla, Puri and Simard 2006; "im2col"). N images of P pixels give N * Q patches of E elements, ordered by the
/// kernel's row, its column and the channel.
struct Unfold {
    Patches patches;
    Tensor input;   ///< [N * P, channels]
    Tensor output;  ///< [N * Q, E] written

    [[nodiscard]] Work work() const { return moving(output, {input, output}); }
};

/// The gradient of Unfold: each element of an image becomes the sum over the patches that hold it.
struct Fold {
    Patches patches;
    Tensor input;   ///< [N * Q, E]
    Tensor output;  ///< [N * P, channels] written

    [[nodiscard]] Work work() const { return moving(input, {input, output}); }
};

/// A convolution in float32 without its patches in memory: equals Linear of the weights and the patches of Unfold, but
/// for the order of the sums. N images of P pixels, Q pixels of the output, E elements of a patch.
struct Convolve {
    Patches patches;
    Tensor input;      ///< [N * P, channels]
    Tensor weight;     ///< [O, E], ordered as patches are
    Tensor output;     ///< [N * Q, O] written
    Tensor workspace;  ///< [1, convolution_workspace(patches, O)]: its content afterwards is not defined

    [[nodiscard]] Work work() const { return multiplying(output.rows, weight, 1, {input, weight, output}); }
};

struct ConvolveBackward {
    Patches patches;
    Tensor output_gradient;  ///< [N * Q, O]
    Tensor input;            ///< [N * P, channels]
    Tensor weight;           ///< [O, E]
    Tensor weight_gradient;  ///< [O, E] by `write`
    Tensor input_gradient;   ///< [N * P, channels] written; none for the first layer
    Tensor workspace;        ///< as in forward
    Write write = Write::set;

    [[nodiscard]] Work work() const {
        return multiplying(output_gradient.rows, weight, input_gradient ? 2 : 1,
                           {input, weight, output_gradient, weight_gradient, input_gradient});
    }
};

/// Most channels of a block.
inline constexpr std::int64_t convolution_columns = 32;

/// Numbers of the workspace: an image and its gradient within a border of zeros, and the weights and their gradient,
/// with channels padded to blocks.
inline std::int64_t convolution_workspace(const Patches& patches, std::int64_t outputs) {
    const auto padded = [](std::int64_t channels) {
        return (channels + convolution_columns - 1) / convolution_columns * convolution_columns;
    };
    const std::int64_t border = 2 * (patches.kernel / 2), taps = patches.kernel * patches.kernel;
    const std::int64_t inputs = (patches.height + border) * (patches.width + border) * patches.channels;
    const std::int64_t gradients = (patches.out_height() + border) * (patches.out_width() + border) * padded(outputs);
    return inputs + gradients + taps * padded(outputs) * (patches.channels + padded(patches.channels));
}

}  // namespace hpo
