// A separate file, since compilers that see these operators and their calls together warn of mismatched new and delete.
#include "tests/contract/worker/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> count = 0;
}  // namespace

namespace hpo::test {
std::int64_t allocations() { return count; }
}  // namespace hpo::test

void* operator new(std::size_t size) {
    ++count;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
// Compilers in OpenCL drivers call this one. Without it, a sanitizer's operator new would be used, which does not match
// the operator delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++count;
    return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
