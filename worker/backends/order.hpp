// In which order an epoch visits its samples: a permutation computed position by position, without state, so that a
// device looks up nothing and every backend finds the same sample.
//
// A Feistel network of eight rounds permutes [0, 2^bits), the smallest power of two from 64 that holds all positions
// (Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom functions", SIAM J. Comput. 17,
// 1988; as a shuffle: Mitchell, Stokes, Frank, Holmes, "Bandwidth-optimal random shuffling for GPUs", ACM TOPC 9,
// 2022). A number outside is permuted again until it falls inside (cycle walking: Black and Rogaway, "Ciphers with
// arbitrary finite domains", CT-RSA 2002). The eight round keys are the words of the blocks 0 and 1 of (seed,
// Purpose::shuffle, epoch). The two halves differ by one bit at most. A round applies the finaliser of MurmurHash3 to
// (half xor key).
//
// The kernels for GPUs compute the same functions. Stored studies depend on the order, so that no function here may
// change.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "hpo/random.hpp"

namespace hpo {

class EpochOrder {
   public:
    /// The order of `count` samples, 1 to 2^31, in epoch `epoch`.
    constexpr EpochOrder(std::uint64_t seed, std::uint64_t epoch, std::uint32_t count) : count_(count) {
        for (std::uint32_t block = 0; block < 2; ++block) {
            const PhiloxBlock words = draw_block(seed, Purpose::shuffle, epoch, block);
            for (std::uint32_t i = 0; i < 4; ++i) keys_[4 * block + i] = words[i];
        }
        const auto bits = std::max(6U, static_cast<std::uint32_t>(std::bit_width(count - 1)));
        right_bits_ = bits - bits / 2;
        left_mask_ = (1U << bits / 2) - 1;
        right_mask_ = (1U << right_bits_) - 1;
    }

    /// The sample at `position`: both in [0, count).
    [[nodiscard]] constexpr std::uint32_t at(std::uint32_t position) const {
        std::uint32_t x = position;
        do x = permuted(x);
        while (x >= count_);
        return x;
    }

    /// One step of `at`, for a number or a vector of numbers. The kernels of each level of the CPU have vectors of
    /// their own, so that the linker never takes a copy of one level for another's.
    template <class Words>
    [[nodiscard]] constexpr Words permuted(Words x) const {
        Words left = x >> right_bits_;
        Words right = x & right_mask_;
        for (int round = 0; round < rounds; round += 2) {
            left ^= mixed(right ^ keys_[round]) & left_mask_;
            right ^= mixed(left ^ keys_[round + 1]) & right_mask_;
        }
        return left << right_bits_ | right;
    }
    /// Returns true if another step is needed.
    template <class Words>
    [[nodiscard]] constexpr auto is_outside(Words x) const {
        return x >= count_;
    }

   private:
    template <class Words>
    static constexpr Words mixed(Words h) {
        h = (h ^ h >> 16) * 0x85EBCA6BU;
        h = (h ^ h >> 13) * 0xC2B2AE35U;
        return h ^ h >> 16;
    }

    static constexpr int rounds = 8;
    std::uint32_t keys_[rounds] = {};
    std::uint32_t count_;
    std::uint32_t right_bits_;
    std::uint32_t left_mask_;
    std::uint32_t right_mask_;
};

}  // namespace hpo
