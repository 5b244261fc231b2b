#include "tests/support/refused_writes.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

int refused_error = 0, polls_left = 0, writes_left = 0;

/// Counts a refusal, and returns true, if one is due.
bool refuses(int& left) {
    if (left <= 0) return false;
    --left;
    errno = refused_error;
    return true;
}

}  // namespace

// Replace the functions of the C library in the test programs that use RefusedWrites. Signal handlers may call them.
extern "C" int poll(pollfd* fds, nfds_t count, int timeout) {
    if (refuses(polls_left)) return -1;
    const timespec limit{timeout / 1000, timeout % 1000 * 1'000'000L};
    return ::ppoll(fds, count, timeout < 0 ? nullptr : &limit, nullptr);
}

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
    return refuses(writes_left) ? -1 : ::syscall(SYS_write, fd, bytes, size);
}

namespace hpo::testing {

RefusedWrites::RefusedWrites(int error, int polls, int writes) {
    refused_error = error;
    polls_left = polls;
    writes_left = writes;
}
RefusedWrites::~RefusedWrites() { polls_left = writes_left = 0; }

int RefusedWrites::left() { return polls_left + writes_left; }

}  // namespace hpo::testing
