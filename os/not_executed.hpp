// Programs that posix_spawn() could not execute.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace hpo::os {

/// The status of a child of posix_spawn() whose program could not be executed. POSIX lets posix_spawn() succeed then,
/// as it does under QEMU.
inline constexpr int not_executed = 127;

/// Returns the errno of a program that could not be executed.
inline int execution_error(const std::filesystem::path& program) {
    return ::access(program.c_str(), X_OK) == 0 ? ENOEXEC : errno;
}

}  // namespace hpo::os
