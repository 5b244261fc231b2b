#include "os/files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hpo::os {

int make_durable(int file) { return ::fdatasync(file); }

Descriptor temporary_file(const char* name) { return Descriptor(::memfd_create(name, MFD_CLOEXEC)); }

Descriptor shared_memory(const char* name) { return temporary_file(name); }

Descriptor nameless_file(const char* folder) { return Descriptor(::open(folder, O_TMPFILE | O_RDWR, 0666)); }

std::int64_t modified_at(const struct stat& info) {
    return std::int64_t{1'000'000'000} * info.st_mtim.tv_sec + info.st_mtim.tv_nsec;
}

}  // namespace hpo::os
