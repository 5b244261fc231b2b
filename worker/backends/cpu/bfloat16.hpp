// Products of bfloat16 matrices on the CPU. On x86-64: by AMX tiles, which Intel's server CPUs have from Sapphire
// Rapids on, or by the dot products of AVX512-BF16, which AMD's CPUs have from Zen 4 on (Intel: "Intel architecture
// instruction set extensions programming reference"). On ARM: by BFMMLA of the BF16 extension, which Neoverse N2, V1
// and V2 have (Arm: "Arm architecture reference manual for A-profile").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "worker/backends/cpu/architecture.hpp"

namespace hpo {

class ThreadPool;

/// Rounds to nearest, ties to even. Subnormal numbers become 0. Needs bfloat16_unit().
void round_to_bfloat16(std::int64_t count, const float* from, std::uint16_t* to);

/// Rounds `rows` rows to `to` in groups that the first-level cache holds. write(f32 buffer, first row, number of rows)
/// writes a group, into the buffer or elsewhere, and returns its address.
template <class F>
void write_rounded(std::int64_t rows, std::int64_t columns, std::uint16_t* to, F&& write) {
    constexpr std::int64_t at_once = 4096;
    thread_local std::vector<float> unrounded;
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, at_once / columns);
    const auto elements = static_cast<std::size_t>(rows_at_once * columns);
    if (unrounded.size() < elements) unrounded.resize(elements);
    for (std::int64_t first = 0; first < rows; first += rows_at_once) {
        const std::int64_t count = std::min(rows_at_once, rows - first);
        round_to_bfloat16(count * columns, write(unrounded.data(), first, count), to + first * columns);
    }
}

/// A dense row-major matrix of bfloat16.
struct Bfloat16Matrix {
    const std::uint16_t* data = nullptr;
    bool transposed = false;  ///< its transpose is multiplied
};

/// Multiplies matrices by a unit that the CPU has. Takes 1 MiB of memory for a block of the right operand, and 36 KiB
/// of a thread's stack. Not thread-safe.
class Bfloat16Products {
   public:
    /// `threads` must outlive it.
    Bfloat16Products(Bfloat16Unit unit, ThreadPool& threads);

    /// Computes c [m, n] = a [m, k] * b [k, n], or adds the product to c with `add`. Sums are in float32, and each is
    /// taken in the same order for all sizes.
    void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Bfloat16Matrix a, Bfloat16Matrix b, float* c,
                  bool add);

   private:
    struct Block;
    struct Free {
        void operator()(Block* block) const;
    };
    std::unique_ptr<Block, Free> block_;
    Bfloat16Unit unit_;
    ThreadPool& threads_;
};

}  // namespace hpo
