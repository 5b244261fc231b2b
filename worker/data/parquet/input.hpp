// The bytes of a Parquet file, which need not lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::parquet {

struct Input {
    std::int64_t size = 0;
    /// Fills `to` from `offset` on; the bytes are within the size.
    std::function<Result<void>(std::int64_t offset, std::span<std::byte> to)> read;
};

inline std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads a part of the input from its beginning to its end, and never holds more than the requested bytes, or 64 KiB.
class InputWindow {
   public:
    InputWindow(const Input& input, std::int64_t begin, std::int64_t end) : input_(input), next_(begin), end_(end) {}

    /// At least `least` of the bytes that follow, or fewer where the part ends. Valid until the next call.
    Result<std::span<const std::byte>> peek(std::size_t least);
    /// Passes over bytes that peek() gave.
    void skip(std::size_t count) { at_ += count; }
    /// Bytes that follow.
    [[nodiscard]] std::int64_t left() const { return end_ - next_ + static_cast<std::int64_t>(held_.size() - at_); }

   private:
    const Input& input_;
    std::int64_t next_;  ///< offset of the first unread byte
    std::int64_t end_;
    std::vector<std::byte> held_;
    std::size_t at_ = 0;  ///< in held_
};

}  // namespace hpo::parquet
