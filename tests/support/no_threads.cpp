#include "tests/support/no_threads.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace {
std::atomic<int> refusing{0};
}

/// Replaces the function of the C library in the test programs that use NoThreads.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
    if (refusing > 0) return EAGAIN;
    static const auto real = reinterpret_cast<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
        ::dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, start, argument);
}

namespace hpo::testing {

NoThreads::NoThreads() { ++refusing; }
NoThreads::~NoThreads() { --refusing; }

}  // namespace hpo::testing
