// Checkpoint files: weights and the state of training, in one file that is either whole or refused.
//
// Little-endian: "HPOCKPT3" (the number rises with each change of the computation; an older file is refused), u64
// binding, i64 step, u64 bytes of the payload, the payload, u32 CRC-32 of all before it. The binding is a hash of all
// inputs that determine the numbers inside; a file of another trial, configuration, data set or format is refused by
// it. A file is written under a temporary name and renamed, so that a reader sees the old one or the new one. It is not
// synced to the disk: after a power cut the checksum detects damage, and the trial starts again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

/// The FNV-1a hash of the text that a checkpoint is bound to.
std::uint64_t checkpoint_binding(std::string_view text);

/// Writes the parts, one after the other, as the payload. Errors name the file and the system's reason; an existing
/// file is then untouched.
Result<void> write_checkpoint(const std::filesystem::path& file, std::uint64_t binding, std::int64_t step,
                              std::span<const std::span<const std::byte>> parts);

/// The binding of a checkpoint of this version, which may be damaged; nothing: there is none.
std::optional<std::uint64_t> read_binding(const std::filesystem::path& file);

/// Fills the parts, whose sizes must add up to the payload's, and returns the step. Errors say whether the file is
/// missing, damaged or another trial's; the parts' content is then undefined.
Result<std::int64_t> read_checkpoint(const std::filesystem::path& file, std::uint64_t binding,
                                     std::span<const std::span<std::byte>> parts);
/// Reads a payload of any size.
Result<std::int64_t> read_checkpoint(const std::filesystem::path& file, std::uint64_t binding,
                                     std::vector<std::byte>& payload);

}  // namespace hpo
