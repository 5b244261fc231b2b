// A failing disk for a program that preloads this library (LD_PRELOAD). In all threads except the first, the first
// HPO_FAKE_DISK calls of fdatasync() succeed and all later ones fail with EIO.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int fdatasync(int fd) {
    static std::atomic<int> calls{0};
    static const auto real_fdatasync = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fdatasync"));
    const char* successes = std::getenv("HPO_FAKE_DISK");
    if (successes && ::gettid() != ::getpid() && calls++ >= std::atoi(successes)) {
        errno = EIO;
        return -1;
    }
    return real_fdatasync(fd);
}
