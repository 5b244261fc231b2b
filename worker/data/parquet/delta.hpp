// Whole numbers as differences in packed blocks (parquet-format, Encodings.md, DELTA_BINARY_PACKED = 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hpo::parquet {

class DeltaReader {
   public:
    explicit DeltaReader(std::span<const std::byte> bytes) : bytes_(bytes) { failed_ = !read_header(); }

    /// False where the bytes are damaged or have fewer numbers.
    bool read(std::span<std::uint64_t> to);
    [[nodiscard]] bool at_end() const { return left_ == 0; }
    /// Returns the number of values by the header.
    [[nodiscard]] std::uint64_t count() const { return failed_ ? 0 : count_; }
    /// Passes over all numbers and returns the bytes after them; false where the bytes are damaged.
    bool pass_over(std::span<const std::byte>& rest);

   private:
    bool read_header();
    bool next_block();
    /// The next one of the block's groups ("miniblocks").
    bool next_group();

    std::span<const std::byte> bytes_;
    std::uint64_t count_ = 0, groups_ = 0, group_size_ = 0;
    std::uint64_t left_ = 0;             ///< numbers that have not been read
    std::uint64_t last_ = 0;             ///< number
    bool first_ = true;                  ///< the first number, which the header has, is next
    std::uint64_t least_ = 0;            ///< difference of the block
    std::span<const std::byte> widths_;  ///< of the groups of the block that have not been read
    std::span<const std::byte> group_;
    int width_ = 0;
    std::uint64_t at_ = 0, group_left_ = 0;  ///< in the group, numbers
    bool failed_ = false;
};

}  // namespace hpo::parquet
