// The folder for files of this user's programs that can be made again.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace hpo {

/// Returns $XDG_CACHE_HOME/hpo, or ~/.cache/hpo; empty if neither variable holds an absolute path. The folder need not
/// exist.
inline std::filesystem::path user_cache() {
    if (const char* given = std::getenv("XDG_CACHE_HOME"); given && *given == '/')
        return std::filesystem::path(given) / "hpo";
    if (const char* home = std::getenv("HOME"); home && *home == '/')
        return std::filesystem::path(home) / ".cache" / "hpo";
    return {};
}

}  // namespace hpo
