#include "tests/unit/models/allocations.hpp"

#include <atomic>
#include <cstddef>

namespace {
std::atomic<long> count{0};
}

long hpo::test::allocations() { return count; }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// glibc's own names of its allocator; a program's malloc comes before the library's for all that is loaded.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) { return ++count, __libc_malloc(bytes); }
void* calloc(std::size_t number, std::size_t bytes) { return ++count, __libc_calloc(number, bytes); }
void* realloc(void* old, std::size_t bytes) { return ++count, __libc_realloc(old, bytes); }
void* aligned_alloc(std::size_t unit, std::size_t bytes) { return ++count, __libc_memalign(unit, bytes); }
}
#endif
