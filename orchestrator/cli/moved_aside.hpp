// What a command says when its output has taken the name of an earlier file or folder.
#pragma once

#include <cstdio>
#include <filesystem>

#include "hpo/printable.hpp"

namespace hpo {

/// Tells on stderr to which name the earlier output was moved; nothing if `aside` is empty.
inline void tell_moved_aside(const std::filesystem::path& aside) {
    if (aside.empty()) return;
    std::fprintf(stderr, "hpo: the earlier %s was moved to %s\n",
                 std::filesystem::is_directory(aside) ? "folder" : "file", printable(aside.string()).c_str());
}

}  // namespace hpo
