#include "worker/training/process_memory.hpp"

#include <malloc/malloc.h>
#include <unistd.h>

#include <algorithm>

#include "hpo/darwin_memory.hpp"

namespace hpo {
namespace {

bool peak_is_older = false;  ///< than the last reset_peak(): macOS resets no peak

}  // namespace

std::optional<std::int64_t> resident_bytes() {
    const auto usage = darwin::usage_of(::getpid());
    return usage ? std::optional(static_cast<std::int64_t>(usage->ri_phys_footprint)) : std::nullopt;
}

std::optional<std::int64_t> peak_bytes() {
    const auto usage = darwin::usage_of(::getpid());
    if (!usage) return std::nullopt;
    return static_cast<std::int64_t>(peak_is_older ? usage->ri_phys_footprint : usage->ri_lifetime_max_phys_footprint);
}

void reset_peak() {
    ::malloc_zone_pressure_relief(nullptr, 0);
    peak_is_older = true;
}

std::optional<std::int64_t> available_bytes() { return available_of(darwin::installed_bytes(), darwin::pages()); }

std::optional<HostMemory> host_memory() {
    const auto free = available_bytes(), total = darwin::installed_bytes();
    return free && total ? std::optional(HostMemory{*free, *total}) : std::nullopt;
}

}  // namespace hpo
