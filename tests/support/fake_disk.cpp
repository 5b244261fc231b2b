// A disk that fails, for a program that this is preloaded into (LD_PRELOAD): of what its threads but the first one
// synchronise, so many times as HPO_FAKE_DISK says succeed, and all after that fail.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int fdatasync(int fd) {
    static std::atomic<int> times{0};
    static const auto really = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fdatasync"));
    const char* sound = std::getenv("HPO_FAKE_DISK");
    if (sound && ::gettid() != ::getpid() && times++ >= std::atoi(sound)) {
        errno = EIO;
        return -1;
    }
    return really(fd);
}
