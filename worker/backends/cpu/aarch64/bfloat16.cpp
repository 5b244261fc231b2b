// This file is compiled for CPUs with the BF16 extension. Like the kernels, it calls no inline function that the linker
// might share with a file for other CPUs.
#include <arm_neon.h>

#include "worker/backends/cpu/bfloat16_tiles.hpp"

namespace hpo {
namespace {

constexpr std::int64_t quad = 4;                    ///< depth of the operands of BFMMLA
constexpr std::int64_t pair_numbers = 2 * quad;     ///< a register: two rows of a, or two columns of b
constexpr std::int64_t quad_numbers = tile * quad;  ///< in a tile: eight registers
constexpr std::int64_t side = 8;                    ///< rows and columns of c whose sums are in registers
constexpr std::int64_t pairs = side / 2;

/// Packs 16 rows of 32 numbers.
void pack_rows(const std::uint16_t* from, std::int64_t stride, std::uint16_t* to) {
    for (std::int64_t row = 0; row < tile; row += 2)
        for (std::int64_t k = 0; k < depth; k += quad)
            vst1q_u16(to + k / quad * quad_numbers + row / 2 * pair_numbers,
                      vcombine_u16(vld1_u16(from + row * stride + k), vld1_u16(from + (row + 1) * stride + k)));
}

/// Packs the transpose of 32 rows of 16 numbers.
void pack_columns(const std::uint16_t* from, std::int64_t stride, std::uint16_t* to) {
    for (std::int64_t k = 0; k < depth; k += quad)
        for (std::int64_t column = 0; column < tile; column += 8) {
            const std::uint16_t* at = from + k * stride + column;
            const uint16x8_t first = vld1q_u16(at), second = vld1q_u16(at + stride), third = vld1q_u16(at + 2 * stride),
                             fourth = vld1q_u16(at + 3 * stride);
            const uint16x8_t even_low = vzip1q_u16(first, third), even_high = vzip2q_u16(first, third);
            const uint16x8_t odd_low = vzip1q_u16(second, fourth), odd_high = vzip2q_u16(second, fourth);
            std::uint16_t* target = to + k / quad * quad_numbers + column / 2 * pair_numbers;
            vst1q_u16(target, vzip1q_u16(even_low, odd_low));
            vst1q_u16(target + pair_numbers, vzip2q_u16(even_low, odd_low));
            vst1q_u16(target + 2 * pair_numbers, vzip1q_u16(even_high, odd_high));
            vst1q_u16(target + 3 * pair_numbers, vzip2q_u16(even_high, odd_high));
        }
}

/// Packs the tile that begins at row i and column j of a [rows, columns]; in 16 x 32 tiles, or in 32 x 16 tiles with
/// `across`, which are transposed.
void pack(const std::uint16_t* data, std::int64_t rows, std::int64_t columns, std::int64_t i, std::int64_t j,
          bool across, std::uint16_t* to) {
    const std::int64_t height = across ? depth : tile;
    const std::int64_t width = across ? tile : depth;
    const std::uint16_t* from = data + i * columns + j;
    std::int64_t stride = columns;
    std::uint16_t whole[tile_numbers];
    if (rows - i < height || columns - j < width) {
        __builtin_memset(whole, 0, sizeof whole);
        for (std::int64_t r = 0; r < smaller(rows - i, height); ++r)
            __builtin_memcpy(whole + r * width, from + r * stride,
                             static_cast<std::size_t>(smaller(columns - j, width)) * sizeof(std::uint16_t));
        from = whole;
        stride = width;
    }
    if (across)
        pack_columns(from, stride, to);
    else
        pack_rows(from, stride, to);
}

/// Computes 8 x 8 numbers of c: BFMMLA adds the product of two rows and two columns, four deep, to 2 x 2 sums.
void multiply_side(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, float* c, std::int64_t stride,
                   bool add) {
    float32x4_t sums[pairs][pairs];
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < pairs; ++i)
#pragma GCC unroll 4
        for (std::int64_t j = 0; j < pairs; ++j) {
            const float* at = c + 2 * i * stride + 2 * j;
            sums[i][j] = add ? vcombine_f32(vld1_f32(at), vld1_f32(at + stride)) : vdupq_n_f32(0);
        }
    for (std::int64_t s = 0; s < steps * tile_numbers; s += quad_numbers) {
        bfloat16x8_t left[pairs], right[pairs];
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < pairs; ++i) {
            left[i] = vreinterpretq_bf16_u16(vld1q_u16(a + s + i * pair_numbers));
            right[i] = vreinterpretq_bf16_u16(vld1q_u16(b + s + i * pair_numbers));
        }
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < pairs; ++i)
#pragma GCC unroll 4
            for (std::int64_t j = 0; j < pairs; ++j) sums[i][j] = vbfmmlaq_f32(sums[i][j], left[i], right[j]);
    }
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < pairs; ++i)
#pragma GCC unroll 4
        for (std::int64_t j = 0; j < pairs; ++j) {
            float* at = c + 2 * i * stride + 2 * j;
            vst1_f32(at, vget_low_f32(sums[i][j]));
            vst1_f32(at + stride, vget_high_f32(sums[i][j]));
        }
}

/// See bfloat16_tiles.hpp. A tile is packed in eight parts, each four deep; a part has the pairs of rows of a, or of
/// columns of b, one after the other.
struct Unit {
    static void pack_left(const Bfloat16Matrix& a, std::int64_t m, std::int64_t k, std::int64_t i, std::int64_t j,
                          std::uint16_t* to) {
        if (a.transposed)
            pack(a.data, k, m, j, i, true, to);
        else
            pack(a.data, m, k, i, j, false, to);
    }
    static void pack_right(const Bfloat16Matrix& b, std::int64_t k, std::int64_t n, std::int64_t i, std::int64_t j,
                           std::uint16_t* to) {
        if (b.transposed)
            pack(b.data, n, k, j, i, false, to);
        else
            pack(b.data, k, n, i, j, true, to);
    }
    static void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, float* c,
                         std::int64_t stride, bool add) {
        const auto part = [steps](const std::uint16_t* packed, std::int64_t first) {
            return packed + first / tile * steps * tile_numbers + first % tile / 2 * pair_numbers;
        };
        for (std::int64_t i = 0; i < pair; i += side)
            for (std::int64_t j = 0; j < pair; j += side)
                multiply_side(part(a, i), part(b, j), steps, c + i * stride + j, stride, add);
    }
};

}  // namespace

void round_to_bfloat16(std::int64_t count, const float* from, std::uint16_t* to) {
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) vst1_u16(to + i, vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(from + i))));
    if (i == count) return;
    float rest[4] = {};
    std::uint16_t rounded[4];
    const auto size = static_cast<std::size_t>(count - i);
    __builtin_memcpy(rest, from + i, size * sizeof(float));
    vst1_u16(rounded, vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(rest))));
    __builtin_memcpy(to + i, rounded, size * sizeof(std::uint16_t));
}

void pack_right_tiles(Bfloat16Unit /*unit*/, const Bfloat16Block& block, std::int64_t begin, std::int64_t end) {
    pack_right_tiles_by(Unit(), block, begin, end);
}

void multiply_strips(Bfloat16Unit /*unit*/, const Bfloat16Block& block, std::int64_t begin, std::int64_t end) {
    multiply_strips_by(Unit(), block, begin, end);
}

}  // namespace hpo
