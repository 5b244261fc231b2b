// This file is compiled for CPUs with AVX512-BF16 and AMX. The compiler uses AMX only where the code asks for it. Like
// the kernels, the file calls no inline function that the linker might share with a file for other CPUs.
#include <immintrin.h>

#include "worker/backends/cpu/bfloat16_tiles.hpp"

namespace hpo {
namespace {

/// Sixteen rows of 64 bytes.
struct Rows {
    __m512i row[tile];
};

/// The operand of LDTILECFG: eight full tiles.
struct alignas(64) TileShapes {
    std::uint8_t palette = 1;
    std::uint8_t unused[15] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {tile, tile, tile, tile, tile, tile, tile, tile};
};

/// Fills row r with `width` numbers (32 at most) of row r of the source, and with 0 beyond its ends.
void load_rows(const std::uint16_t* from, std::int64_t stride, std::int64_t rows, std::int64_t width, Rows& to) {
    const auto mask = static_cast<__mmask32>(width >= depth ? ~0U : (1U << width) - 1);
    for (std::int64_t r = 0; r < tile; ++r)
        to.row[r] = r < rows ? _mm512_maskz_loadu_epi16(mask, from + r * stride) : _mm512_setzero_si512();
}

/// Fills row r with the rows 2r and 2r + 1 of the source, interleaved number by number, `width` (16 at most) of each,
/// and with 0 beyond its ends.
void load_row_pairs(const std::uint16_t* from, std::int64_t stride, std::int64_t rows, std::int64_t width, Rows& to) {
    const auto mask = static_cast<__mmask16>(width >= tile ? ~0U : (1U << width) - 1);
    const auto row = [&](std::int64_t r) {
        return _mm512_cvtepu16_epi32(r < rows ? _mm256_maskz_loadu_epi16(mask, from + r * stride)
                                              : _mm256_setzero_si256());
    };
    for (std::int64_t r = 0; r < tile; ++r)
        to.row[r] = _mm512_or_si512(row(2 * r), _mm512_slli_epi32(row(2 * r + 1), 16));
}

/// Transposes the 16 x 16 matrix of pairs of numbers.
void transpose(Rows& rows) {
    Rows other;
    for (int i = 0; i < tile; i += 2) {
        other.row[i] = _mm512_unpacklo_epi32(rows.row[i], rows.row[i + 1]);
        other.row[i + 1] = _mm512_unpackhi_epi32(rows.row[i], rows.row[i + 1]);
    }
    for (int i = 0; i < tile; i += 4)
        for (int j = 0; j < 2; ++j) {
            rows.row[i + 2 * j] = _mm512_unpacklo_epi64(other.row[i + j], other.row[i + j + 2]);
            rows.row[i + 2 * j + 1] = _mm512_unpackhi_epi64(other.row[i + j], other.row[i + j + 2]);
        }
    for (int i = 0; i < tile; i += 8)
        for (int j = 0; j < 4; ++j) {
            other.row[i + j] = _mm512_shuffle_i32x4(rows.row[i + j], rows.row[i + j + 4], 0x88);
            other.row[i + j + 4] = _mm512_shuffle_i32x4(rows.row[i + j], rows.row[i + j + 4], 0xDD);
        }
    for (int j = 0; j < 8; ++j) {
        rows.row[j] = _mm512_shuffle_i32x4(other.row[j], other.row[j + 8], 0x88);
        rows.row[j + 8] = _mm512_shuffle_i32x4(other.row[j], other.row[j + 8], 0xDD);
    }
}

void store(const Rows& rows, std::uint16_t* to) {
    for (std::int64_t r = 0; r < tile; ++r) _mm512_store_si512(to + r * depth, rows.row[r]);
}

/// Computes 32 x 32 numbers of c: two rows of tiles of a times two columns of tiles of b, each `steps` tiles deep.
void multiply_tiles(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, float* c, std::int64_t stride,
                    bool add) {
    const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(float));
    float* const below = c + tile * stride;
    if (add) {
        _tile_loadd(0, c, bytes);
        _tile_loadd(1, c + tile, bytes);
        _tile_loadd(2, below, bytes);
        _tile_loadd(3, below + tile, bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    const std::uint16_t* const lower = a + steps * tile_numbers;
    const std::uint16_t* const right = b + steps * tile_numbers;
    for (std::int64_t i = 0; i < steps * tile_numbers; i += tile_numbers) {
        _tile_loadd(4, a + i, 64);
        _tile_loadd(6, b + i, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, right + i, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, lower + i, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, bytes);
    _tile_stored(1, c + tile, bytes);
    _tile_stored(2, below, bytes);
    _tile_stored(3, below + tile, bytes);
}

/// Computes 8 x 32 numbers of c: the dot products of pairs of numbers are added to 16 registers. The operands are
/// packed as for the tiles; `a` begins at the first of the 8 rows.
void multiply_dots(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, float* c, std::int64_t stride,
                   bool add) {
    constexpr int rows = 8;
    const std::uint16_t* const right = b + steps * tile_numbers;
    __m512 sums[rows][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
        sums[r][0] = add ? _mm512_loadu_ps(c + r * stride) : _mm512_setzero_ps();
        sums[r][1] = add ? _mm512_loadu_ps(c + r * stride + tile) : _mm512_setzero_ps();
    }
    for (std::int64_t i = 0; i < steps * tile_numbers; i += tile_numbers)
        for (std::int64_t p = 0; p < tile; ++p) {
            const auto first = (__m512bh)_mm512_load_si512(b + i + p * depth);
            const auto second = (__m512bh)_mm512_load_si512(right + i + p * depth);
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
                std::int32_t two;
                __builtin_memcpy(&two, a + i + r * depth + 2 * p, sizeof two);
                const auto left = (__m512bh)_mm512_set1_epi32(two);
                sums[r][0] = _mm512_dpbf16_ps(sums[r][0], left, first);
                sums[r][1] = _mm512_dpbf16_ps(sums[r][1], left, second);
            }
        }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
        _mm512_storeu_ps(c + r * stride, sums[r][0]);
        _mm512_storeu_ps(c + r * stride + tile, sums[r][1]);
    }
}

/// See bfloat16_tiles.hpp.
struct Unit {
    bool tiles;

    explicit Unit(bool has_tiles) : tiles(has_tiles) {
        const TileShapes shapes;
        if (tiles) _tile_loadconfig(&shapes);
    }
    ~Unit() {
        if (tiles) _tile_release();
    }
    Unit(const Unit&) = delete;
    Unit& operator=(const Unit&) = delete;

    /// Copies the tile of a [m, k] that begins at (i, j), row by row.
    static void pack_left(const Bfloat16Matrix& a, std::int64_t m, std::int64_t k, std::int64_t i, std::int64_t j,
                          std::uint16_t* to) {
        Rows rows;
        if (a.transposed) {
            load_row_pairs(a.data + j * m + i, m, smaller(k - j, depth), smaller(m - i, tile), rows);
            transpose(rows);
        } else {
            load_rows(a.data + i * k + j, k, smaller(m - i, tile), smaller(k - j, depth), rows);
        }
        store(rows, to);
    }

    /// Copies the tile of b [k, n] that begins at (i, j), with its rows interleaved in pairs.
    static void pack_right(const Bfloat16Matrix& b, std::int64_t k, std::int64_t n, std::int64_t i, std::int64_t j,
                           std::uint16_t* to) {
        Rows rows;
        if (b.transposed) {
            load_rows(b.data + j * k + i, k, smaller(n - j, tile), smaller(k - i, depth), rows);
            transpose(rows);
        } else {
            load_row_pairs(b.data + i * n + j, n, smaller(k - i, depth), smaller(n - j, tile), rows);
        }
        store(rows, to);
    }

    void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, float* c, std::int64_t stride,
                  bool add) const {
        if (tiles) return multiply_tiles(a, b, steps, c, stride, add);
        for (std::int64_t r = 0; r < pair; r += 8)
            multiply_dots(a + r / tile * steps * tile_numbers + r % tile * depth, b, steps, c + r * stride, stride,
                          add);
    }
};

}  // namespace

void round_to_bfloat16(std::int64_t count, const float* from, std::uint16_t* to) {
    for (std::int64_t i = 0; i < count; i += tile) {
        const auto mask = static_cast<__mmask16>(count - i >= tile ? ~0U : (1U << (count - i)) - 1);
        const auto rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i));
        __m256i bits;
        __builtin_memcpy(&bits, &rounded, sizeof bits);
        _mm256_mask_storeu_epi16(to + i, mask, bits);
    }
}

void pack_right_tiles(Bfloat16Unit unit, const Bfloat16Block& block, std::int64_t begin, std::int64_t end) {
    pack_right_tiles_by(Unit(unit == Bfloat16Unit::tiles), block, begin, end);
}

void multiply_strips(Bfloat16Unit unit, const Bfloat16Block& block, std::int64_t begin, std::int64_t end) {
    multiply_strips_by(Unit(unit == Bfloat16Unit::tiles), block, begin, end);
}

}  // namespace hpo
