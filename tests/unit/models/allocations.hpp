// Counts the allocations of this program. With the address sanitizer, which has an allocator of its own, there is no
// count.
#pragma once

namespace hpo::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool allocations_are_counted = false;
#else
inline constexpr bool allocations_are_counted = true;
#endif

/// Calls of malloc, calloc, realloc and aligned_alloc so far, those of libraries included.
long allocations();

}  // namespace hpo::test
