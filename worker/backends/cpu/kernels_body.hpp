// The kernels, compiled once for each level with HPO_KERNEL_TABLE set to the table's name. Everything but the table is
// in an unnamed namespace and nothing of the standard library is called: an inline function compiled here for AVX-512
// could otherwise be the copy that the linker keeps for the whole program.
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hpo/random.hpp"
#include "worker/backends/batch_norm.hpp"
#include "worker/backends/cpu/kernels.hpp"

namespace hpo {
namespace {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

#include "worker/backends/cpu/vectors_body.hpp"

#include "worker/backends/cpu/philox_body.hpp"

#include "worker/backends/cpu/activation_body.hpp"

#include "worker/backends/cpu/layer_norm_body.hpp"

#include "worker/backends/cpu/images_body.hpp"

#include "worker/backends/cpu/batch_norm_body.hpp"

#include "worker/backends/cpu/max_pixels_body.hpp"

#include "worker/backends/cpu/columns_body.hpp"

#include "worker/backends/cpu/sequences_body.hpp"

#include "worker/backends/cpu/convolution_body.hpp"

#include "worker/backends/cpu/recurrent_body.hpp"

#include "worker/backends/cpu/losses_body.hpp"

// ---- Batches ----

void permute(int64_t count, const EpochOrder& order, uint32_t* positions) {
    for (int64_t first = 0; first < count; first += lanes) {
        const auto bytes = static_cast<size_t>(count - first < lanes ? count - first : lanes) * sizeof(uint32_t);
        UnsignedWords x{};
        __builtin_memcpy(&x, positions + first, bytes);
        x = order.permuted(x);
        for (int32_t any = -1; any != 0;) {
            const auto outside = order.is_outside(x);
            const UnsignedWords next = order.permuted(x);
            x = outside ? next : x;
            any = 0;
#pragma omp simd reduction(| : any)
            for (int i = 0; i < lanes; ++i) any |= outside[i];
        }
        __builtin_memcpy(positions + first, &x, bytes);
    }
}

template <class T>
void gather(int64_t rows, int64_t columns, const T* source, const int32_t* indices, float scale, float shift,
            float* output) {
    constexpr int64_t line = 64 / sizeof(T);
    for (int64_t row = 0; row < rows; ++row) {
        if (row + 2 < rows) {  // rows lie anywhere: the hardware cannot guess the next
            const T* later = source + indices[row + 2] * columns;
            for (int64_t i = 0; i < columns; i += line) __builtin_prefetch(later + i);
        }
        const T* x = source + indices[row] * columns;
        float* y = output + row * columns;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) y[i] = static_cast<float>(x[i]) * scale + shift;
    }
}

// ---- Parameters ----

#include "worker/backends/cpu/optimizers_body.hpp"

void initialise(int64_t count, float bound, uint32_t key0, uint32_t key1, uint32_t site, float* values) {
    const float unit = bound * 0x1.0p-23F;
    for (int64_t first = 0; first < count; first += 4 * wide) {
        PhiloxLanes c;
        for (int i = 0; i < wide; ++i) {
            const uint64_t block = static_cast<uint64_t>(first / 4 + i);
            c.word[0][i] = static_cast<uint32_t>(block);
            c.word[1][i] = static_cast<uint32_t>(block >> 32);
            c.word[2][i] = site;
            c.word[3][i] = static_cast<uint32_t>(Purpose::initialise);
        }
        philox(c, key0, key1);
        // Four words of a block after the other: 4 i to 4 i + 3 are a group of stores that compilers vectorise.
        float drawn[4 * wide];
#pragma omp simd
        for (int i = 0; i < wide; ++i) {
            drawn[4 * i] = static_cast<float>(static_cast<int32_t>(c.word[0][i] >> 8) - (1 << 23)) * unit;
            drawn[4 * i + 1] = static_cast<float>(static_cast<int32_t>(c.word[1][i] >> 8) - (1 << 23)) * unit;
            drawn[4 * i + 2] = static_cast<float>(static_cast<int32_t>(c.word[2][i] >> 8) - (1 << 23)) * unit;
            drawn[4 * i + 3] = static_cast<float>(static_cast<int32_t>(c.word[3][i] >> 8) - (1 << 23)) * unit;
        }
        const int64_t rest = count - first < 4 * wide ? count - first : 4 * wide;
        __builtin_memcpy(values + first, drawn, static_cast<size_t>(rest) * sizeof(float));
    }
}

}  // namespace

extern const Kernels HPO_KERNEL_TABLE;
const Kernels HPO_KERNEL_TABLE = {
    .activate = {activate<Identity>, activate<Relu>, activate<Gelu>, activate<Silu>},
    .activate_backward = {activate_backward<Identity, true>, activate_backward<Relu, false>,
                          activate_backward<Gelu, true>, activate_backward<Silu, true>},
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .add = add,
    .unfold = unfold,
    .fold = fold,
    .convolve = convolve,
    .convolve_backward = convolve_backward,
    .group_norm = group_norm,
    .group_norm_backward = group_norm_backward,
    .batch_norm = batch_norm,
    .batch_norm_by_running = batch_norm_by_running,
    .batch_norm_backward = batch_norm_backward,
    .mean_pixels = mean_pixels,
    .mean_pixels_backward = mean_pixels_backward,
    .max_pixels = max_pixels,
    .max_pixels_backward = max_pixels_backward,
    .embed = embed,
    .embed_backward = embed_backward,
    .embed_columns = embed_columns,
    .embed_columns_backward = embed_columns_backward,
    .rotate = rotate,
    .attention = attention,
    .attention_backward = attention_backward,
    .gate = gate,
    .gate_backward = gate_backward,
    .swap_rows = swap_rows,
    .gru_step = gru_step,
    .gru_step_backward = gru_step_backward,
    .lstm_step = lstm_step,
    .lstm_step_backward = lstm_step_backward,
    .cross_entropy = cross_entropy,
    .binary_cross_entropy = binary_cross_entropy,
    .squared_error = squared_error,
    .permute = permute,
    .gather_f32 = gather<float>,
    .gather_u8 = gather<uint8_t>,
    .sum_of_squares = sum_of_squares,
    .adamw = adamw,
    .sgd = sgd,
    .lion = lion,
    .average = average,
    .initialise = initialise,
};

}  // namespace hpo
