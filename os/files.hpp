// Files, as far as systems differ in them.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "hpo/descriptor.hpp"

namespace hpo::os {

/// Brings the content of the file to the disk, so that a loss of power does not take it away. Returns 0, or -1 with
/// errno.
int make_durable(int file);

/// Makes an empty file without a name, in memory where the system can. `name` is for tools that show files. Empty, with
/// errno, on failure.
Descriptor temporary_file(const char* name);

/// Makes memory for mmap() that processes share, of 0 bytes at first. `name` as above. Empty, with errno, on failure.
Descriptor shared_memory(const char* name);

/// Makes an empty file in the folder, without a name, which linkat() gives it by /dev/fd. Empty where the file system
/// can make none.
Descriptor nameless_file(const char* folder);

/// Returns when the content of the file last changed, in nanoseconds since the epoch.
std::int64_t modified_at(const struct stat& info);

}  // namespace hpo::os
