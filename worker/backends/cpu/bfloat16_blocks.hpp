// What the products of bfloat16 matrices of all architectures have in common: the matrices are cut into tiles, which an
// architecture packs and multiplies in its own way. Only the bfloat16.cpp of the architecture includes this file.
#pragma once

#include "worker/backends/cpu/bfloat16.hpp"

namespace hpo {
namespace {

constexpr std::int64_t tile = 16;        ///< rows of a tile; each has 64 bytes
constexpr std::int64_t depth = 32;       ///< bfloat16 numbers in a row
constexpr std::int64_t pair = 2 * tile;  ///< rows and columns of c that are summed at once, in four tiles
constexpr std::int64_t columns_at_once = 1024;
constexpr std::int64_t depth_at_once = 512;
constexpr std::int64_t tile_numbers = tile * depth;

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t tiles_of(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

void copy_rows(std::int64_t rows, std::int64_t columns, const float* from, std::int64_t from_stride, float* to,
               std::int64_t to_stride) {
    for (std::int64_t r = 0; r < rows; ++r)
        __builtin_memcpy(to + r * to_stride, from + r * from_stride, static_cast<std::size_t>(columns) * sizeof(float));
}

void clear_tile(std::uint16_t* to) { __builtin_memset(to, 0, tile_numbers * sizeof(std::uint16_t)); }

/// Computes c = a * b, see Bfloat16Products. The unit packs a tile of a (16 rows, 32 deep) and one of b (32 deep, 16
/// columns) that begin at given places, with 0 beyond the ends of the matrix, as it likes. It multiplies two rows of
/// tiles of a, each `steps` tiles deep, with two columns of tiles of b.
template <class Unit, class Blocks>
void multiply_blocks(const Unit& unit, Blocks& blocks, std::int64_t m, std::int64_t n, std::int64_t k,
                     const Bfloat16Matrix& a, const Bfloat16Matrix& b, float* c, bool add) {
    std::uint16_t* const left = blocks.left;
    std::uint16_t* const right = blocks.right;
    float* const edge = blocks.edge;
    for (std::int64_t n0 = 0; n0 < n; n0 += columns_at_once)
        for (std::int64_t k0 = 0; k0 < k; k0 += depth_at_once) {
            const std::int64_t steps = tiles_of(smaller(k - k0, depth_at_once), depth);
            const std::int64_t columns = smaller(n - n0, columns_at_once);
            const bool adds = add || k0 > 0;
            // The number of tiles across is even; the columns beyond n are 0.
            for (std::int64_t j = 0; j < 2 * tiles_of(columns, pair); ++j)
                for (std::int64_t s = 0; s < steps; ++s) {
                    std::uint16_t* const to = right + (j * steps + s) * tile_numbers;
                    if (j * tile < columns)
                        unit.pack_right(b, k, n, k0 + s * depth, n0 + j * tile, to);
                    else
                        clear_tile(to);
                }
            for (std::int64_t m0 = 0; m0 < m; m0 += pair) {
                for (std::int64_t i = 0; i < 2; ++i)
                    for (std::int64_t s = 0; s < steps; ++s) {
                        std::uint16_t* const to = left + (i * steps + s) * tile_numbers;
                        if (m0 + i * tile < m)
                            unit.pack_left(a, m, k, m0 + i * tile, k0 + s * depth, to);
                        else
                            clear_tile(to);
                    }
                const std::int64_t rows = smaller(m - m0, pair);
                for (std::int64_t j = 0; j < columns; j += pair) {
                    const std::uint16_t* const across = right + j / tile * steps * tile_numbers;
                    float* const target = c + m0 * n + n0 + j;
                    const std::int64_t width = smaller(columns - j, pair);
                    if (rows == pair && width == pair) {
                        unit.multiply(left, across, steps, target, n, adds);
                        continue;
                    }
                    if (adds) copy_rows(rows, width, target, n, edge, pair);
                    unit.multiply(left, across, steps, edge, pair, adds);
                    copy_rows(rows, width, edge, pair, target, n);
                }
            }
        }
}

}  // namespace

struct alignas(64) Bfloat16Products::Blocks {
    std::uint16_t left[pair * depth_at_once];
    std::uint16_t right[columns_at_once * depth_at_once];
    float edge[pair * pair];
};

void Bfloat16Products::Free::operator()(Blocks* blocks) const { delete blocks; }

Bfloat16Products::Bfloat16Products(Bfloat16Unit unit) : blocks_(new Blocks), unit_(unit) {}

}  // namespace hpo
