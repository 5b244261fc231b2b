// The compression of pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::parquet {

inline constexpr std::int64_t uncompressed = 0;

/// Refuses a page of more than 1 GiB, with the cure.
Result<void> check_page_size(std::int64_t bytes);

/// Decompresses a page of exactly `size` bytes, by the codec's number. Memory grows with the contents of the bytes: a
/// header that claims more than they can hold is an error. A codec that is not supported is an error, too, which tells
/// the cure.
Result<std::vector<std::byte>> decompress(std::int64_t codec, std::span<const std::byte> bytes, std::size_t size);

}  // namespace hpo::parquet
