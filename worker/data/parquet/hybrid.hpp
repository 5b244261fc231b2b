// Parquet's hybrid of run lengths and packed bits, by which levels, indices of dictionaries and booleans are written
// (parquet-format, Encodings.md, RLE = 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hpo::parquet {

/// A varint of at most 64 bits, which is cut off `bytes`; false where they end before it, or it is longer.
bool take_varint(std::span<const std::byte>& bytes, std::uint64_t& number);

/// Reads numbers of `width` bits, at most 32.
class HybridReader {
   public:
    HybridReader(std::span<const std::byte> bytes, int width) : bytes_(bytes), width_(width) {}

    /// False where the bytes end before all numbers are read.
    bool read(std::span<std::uint32_t> to);
    /// Returns true if no numbers are left, except for the padding of packed numbers: in the last group, or in further
    /// groups of zeros, as DuckDB writes them.
    [[nodiscard]] bool at_end() const;

   private:
    bool next_run();

    std::span<const std::byte> bytes_;
    int width_;
    std::uint64_t left_ = 0;  ///< numbers of this run
    bool packed_ = false;
    std::uint32_t repeated_ = 0;
    std::span<const std::byte> run_;  ///< packed
    std::uint64_t bit_ = 0;           ///< in run_
};

/// `width` bits, at most 64, from `bit` on: the lowest one first. They must lie within the bytes.
std::uint64_t packed_bits(std::span<const std::byte> bytes, std::uint64_t bit, int width);

}  // namespace hpo::parquet
