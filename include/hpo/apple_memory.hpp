// How much memory of a Mac can still be taken, from the counts of pages that macOS keeps. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace hpo {

/// Pages as host_statistics64(HOST_VM_INFO64) counts them, and their size in bytes.
struct ApplePages {
    std::int64_t page = 0;        ///< bytes: 16384 on Apple silicon
    std::int64_t internal = 0;    ///< of processes, not of files (internal_page_count); purgeable ones among them
    std::int64_t purgeable = 0;   ///< may be dropped without being written (purgeable_count)
    std::int64_t wired = 0;       ///< cannot be moved out of memory (wire_count)
    std::int64_t compressed = 0;  ///< hold compressed pages (compressor_page_count)
};

/// Returns the bytes that can be taken without compressing or swapping: the installed memory less the part that
/// Activity Monitor calls used. Cached files count as available, as in Linux's MemAvailable. Absent where macOS has not
/// answered.
inline std::optional<std::int64_t> available_of(std::optional<std::int64_t> installed,
                                                const std::optional<ApplePages>& pages) {
    if (!installed || !pages || pages->page <= 0) return std::nullopt;
    const std::int64_t anonymous = std::max<std::int64_t>(0, pages->internal - pages->purgeable);
    const std::int64_t used = (anonymous + pages->wired + pages->compressed) * pages->page;
    return std::clamp<std::int64_t>(*installed - used, 0, *installed);
}

}  // namespace hpo
