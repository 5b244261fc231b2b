// This process as its operating system knows it.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::os {

/// Returns a path by which this program can be started again. On Linux that also works once its file was replaced.
std::string own_program();

/// Returns the file of this program; the error tells why it cannot be found, with the cure.
Result<std::filesystem::path> own_program_file();

/// Names the calling thread, for tools such as top; the first 15 characters count.
void name_thread(const char* name);

/// Makes the kernel kill this process when its parent ends; macOS cannot. A parent that has ended before is for the
/// caller to notice.
void die_with_parent();

/// Sets the actions of all signals to the default.
void reset_signal_actions();

/// Returns the name of a signal without its SIG, such as TERM; nothing if it has none.
const char* signal_abbreviation(int number);

/// Returns the cores that the calling thread may run on, ascending; none where the system does not bind threads to
/// cores.
std::vector<int> allowed_cores();

/// Binds the calling thread to the cores, where the system does so and accepts them. Allocates nothing.
void bind_to_cores(std::span<const int> cores);

/// Returns the bytes of the largest resident memory in a usage.
std::int64_t largest_resident(const rusage& usage);

/// Makes the allocator keep few arenas for threads, if it has any.
void limit_arenas();

}  // namespace hpo::os
