#include "worker/data/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hpo {

Result<MappedFile> MappedFile::open(const std::filesystem::path& file) {
    const auto broken = [&](const char* what) { return Error{file.string() + ": " + what}; };
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return broken(std::strerror(errno));
    struct stat status {};
    void* memory = MAP_FAILED;
    int reason = 0;
    if (::fstat(descriptor, &status) != 0) {
        reason = errno;
    } else if (S_ISREG(status.st_mode) && status.st_size > 0) {
        memory = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (memory == MAP_FAILED) reason = errno;
    }
    ::close(descriptor);
    if (reason != 0) return broken(std::strerror(reason));
    if (!S_ISREG(status.st_mode)) return broken("not a file");
    if (status.st_size == 0) return broken("is empty");
    return MappedFile({static_cast<const std::byte*>(memory), static_cast<std::size_t>(status.st_size)});
}

void MappedFile::was_read(std::size_t bytes) const {
    // The system maps some pages around the one that is asked for.
    constexpr std::size_t at_least = std::size_t{1} << 16, most = std::size_t{1} << 26;
    if (read_.fetch_add(std::max(bytes, at_least)) < most) return;
    read_ = 0;
    ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace hpo
