// A failing disk for a program that preloads this library (LD_PRELOAD). In all threads except the first, the first
// HPO_FAKE_DISK calls of fdatasync() succeed and all later ones fail with EIO. The HPO_FAKE_WRITE-th call of pwrite64()
// fails with ENOSPC: a disk that is full for a moment. Folders whose paths contain HPO_FAKE_NETWORK lie on NFS.
#include <dlfcn.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

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

extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
    using Write = ssize_t (*)(int, const void*, size_t, off64_t);
    static std::atomic<int> calls{0};
    static const auto real_pwrite64 = reinterpret_cast<Write>(::dlsym(RTLD_NEXT, "pwrite64"));
    const char* failing = std::getenv("HPO_FAKE_WRITE");
    if (failing && ++calls == std::atoi(failing)) {
        errno = ENOSPC;
        return -1;
    }
    return real_pwrite64(fd, bytes, size, at);
}

extern "C" int statfs(const char* path, struct statfs* status) {
    static const auto real_statfs =
        reinterpret_cast<int (*)(const char*, struct statfs*)>(::dlsym(RTLD_NEXT, "statfs"));
    const int result = real_statfs(path, status);
    const char* network = std::getenv("HPO_FAKE_NETWORK");
    if (result == 0 && network && std::strstr(path, network)) status->f_type = 0x6969;
    return result;
}
