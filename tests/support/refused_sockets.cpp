#include "tests/support/refused_sockets.hpp"

#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<int> refused_error{0}, refusals_left{0};

/// Counts a refusal, and returns true, if one is due.
bool refuses() {
    int left = refusals_left;
    while (left > 0 && !refusals_left.compare_exchange_weak(left, left - 1)) {
    }
    if (left <= 0) return false;
    errno = refused_error;
    return true;
}

template <class F>
F real(const char* name) {
    return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Replace the functions of the C library in the test programs that use RefusedSends.
extern "C" ssize_t send(int socket, const void* bytes, size_t size, int flags) {
    static const auto next = real<ssize_t (*)(int, const void*, size_t, int)>("send");
    return refuses() ? -1 : next(socket, bytes, size, flags);
}

extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
    static const auto next = real<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
    return refuses() ? -1 : next(socket, message, flags);
}

namespace hpo::testing {

RefusedSends::RefusedSends(int error, int count) {
    refused_error = error;
    refusals_left = count;
}
RefusedSends::~RefusedSends() { refusals_left = 0; }

int RefusedSends::left() { return refusals_left; }

}  // namespace hpo::testing
