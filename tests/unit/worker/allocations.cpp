// A file of its own: where the compiler sees new and delete together with their calls it takes them for a mismatch.
#include "tests/unit/worker/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
std::int64_t count = 0;
}  // namespace

namespace hpo::test {
std::int64_t allocations() { return count; }
}  // namespace hpo::test

void* operator new(std::size_t size) {
    ++count;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
// Else a sanitizer's own, which does not fit the operator delete below: compilers in OpenCL's drivers use it.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++count;
    return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
