// Cuts products of bfloat16 matrices into blocks and tiles. bfloat16.cpp shares the blocks among threads; the
// bfloat16.cpp of an architecture packs and multiplies tiles in its own way, with the functions of bfloat16_tiles.hpp.
#pragma once

#include <cstdint>

#include "worker/backends/cpu/bfloat16.hpp"

namespace hpo {

/// A part of a product: some columns of c, and some of the numbers that are summed for them.
struct Bfloat16Block {
    static constexpr std::int64_t tile = 16;        ///< rows of a tile; each has 64 bytes
    static constexpr std::int64_t depth = 32;       ///< bfloat16 numbers in a row
    static constexpr std::int64_t pair = 2 * tile;  ///< rows and columns of c that are summed at once, in four tiles
    static constexpr std::int64_t columns_at_once = 1024;
    static constexpr std::int64_t depth_at_once = 512;

    std::int64_t m, n, k;
    Bfloat16Matrix a, b;
    float* c;
    std::int64_t first_column, columns;  ///< of c
    std::int64_t first_depth, steps;     ///< of the sums; in tiles
    bool add;
    std::uint16_t* right;  ///< tiles of b by column and step; an even number of columns of tiles, beyond n with 0
};

// Defined for each architecture.

/// Packs the columns of tiles [begin, end) of b.
void pack_right_tiles(Bfloat16Unit unit, const Bfloat16Block& block, std::int64_t begin, std::int64_t end);
/// Computes those of the rows [begin * pair, end * pair) that c has.
void multiply_strips(Bfloat16Unit unit, const Bfloat16Block& block, std::int64_t begin, std::int64_t end);

}  // namespace hpo
