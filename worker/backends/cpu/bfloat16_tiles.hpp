// The common part of all architectures' products of bfloat16 matrices. Only the bfloat16.cpp of an architecture
// includes this file, which is compiled for CPUs that not all have: it calls no inline function that the linker might
// share with a file for other CPUs.
#pragma once

#include "worker/backends/cpu/bfloat16_blocks.hpp"

namespace hpo {
namespace {

constexpr std::int64_t tile = Bfloat16Block::tile;
constexpr std::int64_t depth = Bfloat16Block::depth;
constexpr std::int64_t pair = Bfloat16Block::pair;
constexpr std::int64_t tile_numbers = tile * depth;

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

void copy_rows(std::int64_t rows, std::int64_t columns, const float* from, std::int64_t from_stride, float* to,
               std::int64_t to_stride) {
    for (std::int64_t r = 0; r < rows; ++r)
        __builtin_memcpy(to + r * to_stride, from + r * from_stride, static_cast<std::size_t>(columns) * sizeof(float));
}

void clear_tile(std::uint16_t* to) { __builtin_memset(to, 0, tile_numbers * sizeof(std::uint16_t)); }

// A unit packs, in its own layout, a tile of a (16 rows, 32 deep) and one of b (32 deep, 16 columns) that begin at
// given places, with 0 beyond the ends of the matrix. It multiplies two rows of tiles of a, each `steps` tiles deep,
// with two columns of tiles of b.

template <class Unit>
void pack_right_tiles_by(const Unit& unit, const Bfloat16Block& it, std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j)
        for (std::int64_t s = 0; s < it.steps; ++s) {
            std::uint16_t* const to = it.right + (j * it.steps + s) * tile_numbers;
            if (j * tile < it.columns)
                unit.pack_right(it.b, it.k, it.n, it.first_depth + s * depth, it.first_column + j * tile, to);
            else
                clear_tile(to);
        }
}

template <class Unit>
void multiply_strips_by(const Unit& unit, const Bfloat16Block& it, std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint16_t left[pair * Bfloat16Block::depth_at_once];
    alignas(64) float edge[pair * pair];
    for (std::int64_t m0 = begin * pair; m0 < smaller(it.m, end * pair); m0 += pair) {
        for (std::int64_t i = 0; i < 2; ++i)
            for (std::int64_t s = 0; s < it.steps; ++s) {
                std::uint16_t* const to = left + (i * it.steps + s) * tile_numbers;
                if (m0 + i * tile < it.m)
                    unit.pack_left(it.a, it.m, it.k, m0 + i * tile, it.first_depth + s * depth, to);
                else
                    clear_tile(to);
            }
        const std::int64_t rows = smaller(it.m - m0, pair);
        for (std::int64_t j = 0; j < it.columns; j += pair) {
            const std::uint16_t* const right = it.right + j / tile * it.steps * tile_numbers;
            float* const target = it.c + m0 * it.n + it.first_column + j;
            const std::int64_t width = smaller(it.columns - j, pair);
            if (rows == pair && width == pair) {
                unit.multiply(left, right, it.steps, target, it.n, it.add);
                continue;
            }
            if (it.add) copy_rows(rows, width, target, it.n, edge, pair);
            unit.multiply(left, right, it.steps, edge, pair, it.add);
            copy_rows(rows, width, edge, pair, target, it.n);
        }
    }
}

}  // namespace
}  // namespace hpo
