// A library for LD_PRELOAD: threads are delayed at random where they take or give back a lock, tell others, begin, read
// or write, so that they meet in orders that are rare otherwise. CAMPAIGN_DELAYS is the seed. With a build of the
// preset tsan, ThreadSanitizer sees the accesses of these orders.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

/// Delays the calling thread at one of four calls: it yields, or sleeps for up to a millisecond at one of 64.
void delay() {
    static const std::uint64_t seed = [] {
        const char* text = std::getenv("CAMPAIGN_DELAYS");
        return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
    }();
    thread_local std::uint64_t dice = (seed * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(::gettid())) | 1U;
    dice ^= dice << 13U, dice ^= dice >> 7U, dice ^= dice << 17U;
    const int error = errno;
    if (dice % 64 == 0) {
        const timespec pause{0, static_cast<long>((dice >> 8U) % 1'000'000)};
        ::nanosleep(&pause, nullptr);
    } else if (dice % 4 == 0) {
        ::sched_yield();
    }
    errno = error;
}

/// Returns the function that this library stands before.
template <class Function>
Function* next(Function*, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define HPO_DELAYED(Result, name, parameters, arguments)          \
    extern "C" Result name parameters {                           \
        static auto* const real = next(decltype(&name){}, #name); \
        delay();                                                  \
        const auto result = real arguments;                       \
        delay();                                                  \
        return result;                                            \
    }

HPO_DELAYED(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
HPO_DELAYED(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
HPO_DELAYED(int, pthread_cond_signal, (pthread_cond_t * condition), (condition))
HPO_DELAYED(int, pthread_cond_broadcast, (pthread_cond_t * condition), (condition))
HPO_DELAYED(ssize_t, read, (int fd, void* bytes, size_t size), (fd, bytes, size))
HPO_DELAYED(ssize_t, write, (int fd, const void* bytes, size_t size), (fd, bytes, size))
