// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011). A draw depends only on (seed, purpose, iteration, element), so that resumed and fused trials, and
// trials on other backends, draw the same numbers.
#pragma once

#include <array>
#include <cstdint>

namespace hpo {

/// The purpose of a draw. Stored studies and checkpoints depend on these numbers: append new ones, never renumber.
enum class Purpose : std::uint32_t {
    sampler = 1,
    trial_seed = 2,
    split = 3,
    shuffle = 4,
    initialise = 5,
    dropout = 6,
    synthetic = 7,
    startup = 8,
    augment = 9,
    start = 10,
};

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Applies ten rounds to `counter` with the key (key0, key1).
constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint32_t key0, std::uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t low = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t high = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<std::uint32_t>(high >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(high),
                   static_cast<std::uint32_t>(low >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(low)};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

/// Returns the four words for the elements 4 * block to 4 * block + 3. `iteration` and `block` must be below 2^32.
constexpr PhiloxBlock draw_block(std::uint64_t seed, Purpose purpose, std::uint64_t iteration, std::uint64_t block) {
    return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                   static_cast<std::uint32_t>(iteration), static_cast<std::uint32_t>(purpose)},
                  static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

constexpr std::uint32_t draw_bits(std::uint64_t seed, Purpose purpose, std::uint64_t iteration, std::uint64_t element) {
    return draw_block(seed, purpose, iteration, element / 4)[element % 4];
}

/// Returns a number that is uniform in [0, 1), with 53 bits.
constexpr double draw_unit(std::uint64_t seed, Purpose purpose, std::uint64_t iteration, std::uint64_t element) {
    const auto block = draw_block(seed, purpose, iteration, element);
    const std::uint64_t bits = (std::uint64_t{block[0]} << 21) ^ (block[1] >> 11);
    return static_cast<double>(bits & ((std::uint64_t{1} << 53) - 1)) * 0x1.0p-53;
}

/// Returns the seed of a trial of a study; trials count from 1. It is below 2^53, which JSON and YAML preserve.
constexpr std::uint64_t trial_seed(std::uint64_t study_seed, std::uint64_t trial) {
    const auto block = draw_block(study_seed, Purpose::trial_seed, 0, trial);
    return ((std::uint64_t{block[0]} << 21) ^ (block[1] >> 11)) & ((std::uint64_t{1} << 53) - 1);
}

}  // namespace hpo
