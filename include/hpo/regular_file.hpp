// Refuses special files where hpo expects one of its own: opening a named pipe would wait for its other end.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "hpo/result.hpp"

namespace hpo {

/// Returns an Error if there is something else than a regular file at the path, or at the end of the link there.
/// Nothing at all is fine.
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
