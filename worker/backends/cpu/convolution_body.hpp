// The kernels of convolutions without patches in memory: a part of kernels_body.hpp, which includes it inside of its
// unnamed namespace. Convolve in convolution.hpp defines them.
//
// Each image is copied into a frame of zeros. There the elements of a patch that lie in one row of the kernel are
// neighbours, so that a patch is a few runs of numbers, and a convolution is a matrix product whose left rows overlap.
// Blocks of `held_rows` pixels by one or two vectors of channels are summed in registers. Arrays that are read as
// vectors (weights, and gradients of the output in the product for the weights' gradient) have their channels padded to
// whole blocks with 0.

#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int64_t held_rows = 8;  // there are 32 registers
#else
constexpr int64_t held_rows = 6;
#endif
static_assert(2 * lanes <= convolution_columns);

/// Channels padded to whole blocks.
inline int64_t block_of(int64_t channels) { return channels > lanes ? 2 * lanes : lanes; }
inline int64_t padded_to_blocks(int64_t channels) {
    const int64_t block = block_of(channels);
    return (channels + block - 1) / block * block;
}

inline void clear(float* to, int64_t count) { __builtin_memset(to, 0, static_cast<size_t>(count) * sizeof(float)); }

/// An image within zeros: `border` pixels on each side, of `stride` numbers each.
struct Frame {
    int64_t height, width, channels, border, stride;

    [[nodiscard]] int64_t row() const { return (width + 2 * border) * stride; }
    [[nodiscard]] int64_t size() const { return (height + 2 * border) * row(); }
    [[nodiscard]] int64_t at(int64_t y, int64_t x) const { return (y + border) * row() + (x + border) * stride; }
    /// Copies an image; its border must be 0 already.
    void fill(const float* image, float* to) const {
        for (int64_t y = 0; y < height; ++y, image += width * channels) {
            float* pixel = to + at(y, 0);
            if (stride == channels) {
                __builtin_memcpy(pixel, image, static_cast<size_t>(width * channels) * sizeof(float));
                continue;
            }
            for (int64_t x = 0; x < width; ++x, pixel += stride)
                for (int64_t c = 0; c < channels; ++c) pixel[c] = image[x * channels + c];
        }
    }
};

/// The runs of numbers that are multiplied for a pixel: `count` runs, `length` long, a `distance` apart.
struct Runs {
    int64_t count, length, distance;
};

/// to[r] = the sums over the runs from from[r] on, times weights[number][channel of the block]. Not inline, so that the
/// pointers stay in registers.
template <int vectors>
[[gnu::noinline]] void multiply_runs(const float* const (&from)[held_rows], const Runs& runs, const float* weights,
                                     float (&to)[held_rows][2 * lanes]) {
    const float* at[held_rows];
    Floats sums[held_rows][vectors];
#pragma GCC unroll 8
    for (int r = 0; r < held_rows; ++r) {
        at[r] = from[r];
        for (int v = 0; v < vectors; ++v) sums[r][v] = Floats{};
    }
    for (int64_t run = 0; run < runs.count; ++run) {
        for (int64_t i = 0; i < runs.length; ++i, weights += vectors * lanes) {
            Floats w[vectors];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) w[v] = load_floats(weights + v * lanes);
#pragma GCC unroll 8
            for (int r = 0; r < held_rows; ++r) {
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v) sums[r][v] += at[r][i] * w[v];
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < held_rows; ++r) at[r] += runs.distance;
    }
#pragma GCC unroll 8
    for (int r = 0; r < held_rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) store_floats(sums[r][v], to[r] + v * lanes);
}

/// Every `step`-th pixel of an image from (first_y, first_x) on, each of which is a sum of products of runs.
struct Pixels {
    int64_t height, width, first_y, first_x, step;
};

/// Computes `channels` channels of these pixels of `output`. source(y, x) is where the runs of a pixel begin.
template <int vectors, class F>
inline void multiply_pixels(const Pixels& pixels, const Runs& runs, const float* weights, int64_t channels,
                            float* output, F&& source) {
    constexpr int64_t block = vectors * lanes;
    const float* from[held_rows] = {};
    float* to[held_rows] = {};
    float sums[held_rows][2 * lanes];
    int64_t held = 0;
    const auto finish = [&] {
        for (int64_t r = held; r < held_rows; ++r) from[r] = from[0];
        const float* of_block = weights;
        for (int64_t first = 0; first < channels; first += block, of_block += runs.count * runs.length * block) {
            multiply_runs<vectors>(from, runs, of_block, sums);
            const int64_t count = channels - first < block ? channels - first : block;
            for (int64_t r = 0; r < held; ++r)
                if (count == block)
                    __builtin_memcpy(to[r] + first, sums[r], block * sizeof(float));
                else
                    __builtin_memcpy(to[r] + first, sums[r], static_cast<size_t>(count) * sizeof(float));
        }
        held = 0;
    };
    for (int64_t y = pixels.first_y; y < pixels.height; y += pixels.step)
        for (int64_t x = pixels.first_x; x < pixels.width; x += pixels.step) {
            from[held] = source(y, x);
            to[held] = output + (y * pixels.width + x) * channels;
            if (++held == held_rows) finish();
        }
    if (held > 0) finish();
}

template <class F>
inline void multiply_pixels(const Pixels& pixels, const Runs& runs, const float* weights, int64_t channels,
                            float* output, F&& source) {
    if (channels > lanes)
        multiply_pixels<2>(pixels, runs, weights, channels, output, source);
    else
        multiply_pixels<1>(pixels, runs, weights, channels, output, source);
}

/// Writes weights as multiply_runs reads them: by block of columns, row and column. value(row, column) is a weight.
template <class F>
inline void pack_weights(int64_t rows, int64_t columns, float* to, F&& value) {
    const int64_t block = block_of(columns);
    for (int64_t first = 0; first < columns; first += block)
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t i = first; i < first + block; ++i) *to++ = i < columns ? value(row, i) : 0.0F;
}

inline Frame input_frame(const PatchSizes& s) { return {s.height, s.width, s.channels, s.kernel / 2, s.channels}; }

void convolve(int64_t images, const PatchSizes& s, int64_t outputs, const float* input, const float* weight,
              float* output, float* workspace) {
    const Frame frame = input_frame(s);
    const int64_t elements = s.kernel * s.kernel * s.channels;
    const int64_t border = s.kernel / 2;
    float* framed = workspace;
    float* packed = framed + frame.size();
    clear(framed, frame.size());
    pack_weights(elements, outputs, packed, [=](int64_t row, int64_t o) { return weight[o * elements + row]; });
    const Runs runs{s.kernel, s.kernel * s.channels, frame.row()};
    for (int64_t image = 0; image < images; ++image) {
        frame.fill(input, framed);
        multiply_pixels({s.out_height, s.out_width, 0, 0, 1}, runs, packed, outputs, output, [&](int64_t y, int64_t x) {
            return framed + frame.at(y * s.stride - border, x * s.stride - border);
        });
        input += s.height * s.width * s.channels;
        output += s.out_height * s.out_width * outputs;
    }
}

/// The rows (or columns) of the kernel that reach pixels with this remainder of their number by the stride: the first
/// one, and how many, a stride apart.
struct Reach {
    int64_t first, count;

    Reach(int64_t pixel, const PatchSizes& s) : first((pixel + s.kernel / 2) % s.stride), count(0) {
        for (int64_t k = first; k < s.kernel; k += s.stride) ++count;
    }
    /// The last one, which belongs to the first pixel of the output.
    [[nodiscard]] int64_t last(int64_t stride) const { return first + (count - 1) * stride; }
};

/// The gradient of the input, from that of the output in its frame.
inline void convolve_back_to_input(const PatchSizes& s, const Frame& frame, const float* framed, const float* packed,
                                   float* input_gradient) {
    const int64_t border = s.kernel / 2;
    for (int64_t first_y = 0; first_y < s.stride; ++first_y)
        for (int64_t first_x = 0; first_x < s.stride; ++first_x) {
            const Reach down(first_y, s), right(first_x, s);
            const Runs runs{right.count > 0 ? down.count : 0, right.count * frame.stride, frame.row()};
            multiply_pixels({s.height, s.width, first_y, first_x, s.stride}, runs, packed, s.channels, input_gradient,
                            [&](int64_t y, int64_t x) {
                                if (runs.count == 0) return framed;
                                return framed + frame.at((y + border - down.last(s.stride)) / s.stride,
                                                         (x + border - right.last(s.stride)) / s.stride);
                            });
            packed += down.count * right.count * frame.stride * padded_to_blocks(s.channels);
        }
}

/// Writes weights as convolve_back_to_input reads them. The order of pixels is the opposite of that of the kernel's
/// rows and columns.
inline void pack_weights_back(const PatchSizes& s, int64_t outputs, int64_t padded, const float* weight, float* to) {
    const int64_t elements = s.kernel * s.kernel * s.channels;
    for (int64_t first_y = 0; first_y < s.stride; ++first_y)
        for (int64_t first_x = 0; first_x < s.stride; ++first_x) {
            const Reach down(first_y, s), right(first_x, s);
            const int64_t rows = down.count * right.count * padded;
            pack_weights(rows, s.channels, to, [&](int64_t row, int64_t channel) {
                const int64_t o = row % padded, pixel = row / padded;
                if (o >= outputs) return 0.0F;
                const int64_t ky = down.last(s.stride) - pixel / right.count * s.stride;
                const int64_t kx = right.last(s.stride) - pixel % right.count * s.stride;
                return weight[o * elements + (ky * s.kernel + kx) * s.channels + channel];
            });
            to += rows * padded_to_blocks(s.channels);
        }
}

/// Adds to `held_rows` rows of [elements, padded] a block of columns: sums over the pixels of some rows of the output.
template <int vectors>
[[gnu::noinline]] void add_outer_products(int64_t rows, int64_t columns, const float* const (&from)[held_rows],
                                          int64_t from_pixel, int64_t from_row, const float* gradient, int64_t pixel,
                                          int64_t row, int64_t held, float* to, int64_t padded) {
    const float* at[held_rows];
    Floats sums[held_rows][vectors];
#pragma GCC unroll 8
    for (int r = 0; r < held_rows; ++r) {
        at[r] = from[r];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sums[r][v] = r < held ? load_floats(to + r * padded + v * lanes) : Floats{};
    }
    for (int64_t y = 0; y < rows; ++y, gradient += row) {
        const float* g = gradient;
        int64_t i = 0;
        for (int64_t x = 0; x < columns; ++x, g += pixel, i += from_pixel) {
            Floats up[vectors];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) up[v] = load_floats(g + v * lanes);
#pragma GCC unroll 8
            for (int r = 0; r < held_rows; ++r) {
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v) sums[r][v] += at[r][i] * up[v];
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < held_rows; ++r) at[r] += from_row;
    }
#pragma GCC unroll 8
    for (int r = 0; r < held_rows; ++r)
        if (r < held)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) store_floats(sums[r][v], to + r * padded + v * lanes);
}

/// Adds one image's part to the gradient of the weights [elements, padded] of the elements [begin, end) of a patch.
template <int vectors>
inline void convolve_back_to_weights(const PatchSizes& s, const Frame& in, const float* framed, const Frame& out,
                                     const float* gradient, int64_t begin, int64_t end, float* sums) {
    constexpr int64_t fast_bytes = 24 << 10;  // operands that are read again and again stay in the first-level cache
    const int64_t border = s.kernel / 2;
    const int64_t row_bytes = (s.stride * in.row() + out.row()) * static_cast<int64_t>(sizeof(float));
    const int64_t most_rows = fast_bytes / row_bytes > 1 ? fast_bytes / row_bytes : 1;
    for (int64_t y = 0; y < s.out_height; y += most_rows) {
        const int64_t rows = s.out_height - y < most_rows ? s.out_height - y : most_rows;
        const float* corner = framed + in.at(y * s.stride - border, -border);
        for (int64_t element = begin; element < end; element += held_rows) {
            const int64_t held = end - element < held_rows ? end - element : held_rows;
            const float* from[held_rows];
            for (int64_t r = 0; r < held_rows; ++r) {
                const int64_t mine = element + (r < held ? r : 0), in_row = s.kernel * s.channels;
                from[r] = corner + mine / in_row * in.row() + mine % in_row;
            }
            for (int64_t first = 0; first < out.stride; first += vectors * lanes)
                add_outer_products<vectors>(rows, s.out_width, from, s.stride * s.channels, s.stride * in.row(),
                                            gradient + out.at(y, 0) + first, out.stride, out.row(), held,
                                            sums + element * out.stride + first, out.stride);
        }
    }
}

void convolve_backward(int64_t images, const PatchSizes& s, int64_t outputs, const float* gradient, const float* input,
                       const float* weight, int64_t begin, int64_t end, float* weight_gradient, float* input_gradient,
                       float* workspace) {
    const int64_t elements = s.kernel * s.kernel * s.channels, padded = padded_to_blocks(outputs);
    const Frame in = input_frame(s);
    const Frame out{s.out_height, s.out_width, outputs, s.kernel / 2, padded};
    float* framed = workspace;
    float* framed_gradient = framed + in.size();
    float* sums = framed_gradient + out.size();
    float* packed = sums + elements * padded;
    clear(framed, in.size());
    clear(framed_gradient, out.size());
    clear(sums + begin * padded, (end - begin) * padded);
    if (input_gradient) pack_weights_back(s, outputs, padded, weight, packed);
    for (int64_t image = 0; image < images; ++image) {
        out.fill(gradient, framed_gradient);
        if (begin < end) {
            in.fill(input, framed);
            if (outputs > lanes)
                convolve_back_to_weights<2>(s, in, framed, out, framed_gradient, begin, end, sums);
            else
                convolve_back_to_weights<1>(s, in, framed, out, framed_gradient, begin, end, sums);
        }
        if (input_gradient) {
            convolve_back_to_input(s, out, framed_gradient, packed, input_gradient);
            input_gradient += s.height * s.width * s.channels;
        }
        input += s.height * s.width * s.channels;
        gradient += s.out_height * s.out_width * outputs;
    }
    for (int64_t o = 0; o < outputs; ++o)
        for (int64_t element = begin; element < end; ++element)
            weight_gradient[o * elements + element] += sums[element * padded + o];
}
