// Reads IDX files (the format of MNIST and its kin), plain or gzip: magic 00 00 08 <dimensions>, one big-endian 32-bit
// length a dimension, then unsigned bytes in row-major order. Other element types are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

using IdxShape = std::vector<std::int64_t>;

/// Product of the lengths after the first: bytes of one item.
std::int64_t item_bytes(const IdxShape& shape);

/// Returns the shape alone; reads a few bytes. Errors name the file and its flaw.
Result<IdxShape> read_idx_shape(const std::filesystem::path& file);

/// Items `first` and following, whole ones, a few at a time.
using IdxItems = std::function<void(std::int64_t first, std::span<const std::uint8_t> bytes)>;

/// The whole file in order, in bounded memory. A file that is shorter or longer than its header says, or that fails
/// gzip's checksum, is an error (after `items` may have been called).
Result<IdxShape> read_idx(const std::filesystem::path& file, const IdxItems& items);

}  // namespace hpo
