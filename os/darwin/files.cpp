#include "os/files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace hpo::os {

/// fsync() leaves the content in the disk's own cache. F_FULLFSYNC empties it; some file systems do not have it.
int make_durable(int file) {
    if (::fcntl(file, F_FULLFSYNC) == 0) return 0;
    return errno == ENOTSUP || errno == EINVAL || errno == ENOTTY ? ::fsync(file) : -1;
}

Descriptor temporary_file(const char*) {
    const char* folder = std::getenv("TMPDIR");
    std::string name = std::string(folder == nullptr || *folder == 0 ? "/tmp" : folder) + "/hpo-XXXXXX";
    Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
    return file;
}

/// Shared memory can be mapped alone, not read and written. Its name, at most 31 bytes, is removed at once.
Descriptor shared_memory(const char*) {
    static std::atomic<unsigned> made{0};
    for (int tries = 0; tries < 100; ++tries) {
        char name[32];
        std::snprintf(name, sizeof name, "/hpo-%d-%u", static_cast<int>(::getpid()), made++);
        Descriptor file(::shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
        if (!file && errno == EEXIST) continue;
        if (file) ::shm_unlink(name);
        if (file) (void)::fcntl(file.get(), F_SETFD, FD_CLOEXEC);
        return file;
    }
    return {};
}

Descriptor nameless_file(const char*) { return {}; }

std::int64_t modified_at(const struct stat& info) {
    return std::int64_t{1'000'000'000} * info.st_mtimespec.tv_sec + info.st_mtimespec.tv_nsec;
}

}  // namespace hpo::os
