#include "worker/data/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace hpo {

namespace {

/// A file that is no folder, pipe or device, and is not empty.
struct OpenFile {
    int descriptor = -1;
    std::int64_t size = 0;
};
Result<OpenFile> open_to_read(const std::filesystem::path& file) {
    const auto broken = [&](const char* what) { return Error{file.string() + ": " + what}; };
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return broken(std::strerror(errno));
    struct stat status {};
    const char* why = ::fstat(descriptor, &status) != 0 ? std::strerror(errno)
                      : !S_ISREG(status.st_mode)        ? "not a file"
                      : status.st_size == 0             ? "is empty"
                                                        : nullptr;
    if (why == nullptr) return OpenFile{descriptor, status.st_size};
    ::close(descriptor);
    return broken(why);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& file) {
    const auto opened = open_to_read(file);
    if (!opened) return opened.error();
    const auto size = static_cast<std::size_t>(opened->size);
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened->descriptor, 0);
    const int reason = errno;
    ::close(opened->descriptor);
    if (memory == MAP_FAILED) return Error{file.string() + ": " + std::strerror(reason)};
    return MappedFile({static_cast<const std::byte*>(memory), size});
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<PositionedFile> PositionedFile::open(const std::filesystem::path& file) {
    const auto opened = open_to_read(file);
    if (!opened) return opened.error();
    return PositionedFile(file, opened->descriptor, opened->size);
}

PositionedFile::~PositionedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void PositionedFile::read(std::int64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
        const auto got = ::pread(descriptor_, to.data(), to.size(), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            throw UnreadableFile(file_.string() + ": " +
                                 (got < 0 ? std::strerror(errno) : "changed while it was in use"));
        to = to.subspan(static_cast<std::size_t>(got));
        offset += got;
    }
}

}  // namespace hpo
