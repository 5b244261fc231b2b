// Refuses special files where hpo expects one of its own: opening a named pipe would wait for its other end.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "hpo/result.hpp"

namespace hpo {

/// Returns an Error if the path, or the end of a link there, is something other than a regular file. A path at which
/// nothing exists is no error.
inline Result<void> check_regular(const std::filesystem::path& file) {
    std::error_code ignored;
    const auto refused = [&](const char* what) {
        return Error{file.string() + ": is " + what + ", not a regular file: remove it"};
    };
    switch (std::filesystem::status(file, ignored).type()) {
        case std::filesystem::file_type::fifo:
            return refused("a named pipe");
        case std::filesystem::file_type::socket:
            return refused("a socket");
        case std::filesystem::file_type::directory:
            return refused("a folder");
        case std::filesystem::file_type::character:
        case std::filesystem::file_type::block:
            return refused("a device");
        default:
            return {};
    }
}

}  // namespace hpo
