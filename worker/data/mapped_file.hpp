// The bytes of a file, mapped into memory: they are read when they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "hpo/result.hpp"

namespace hpo {

class MappedFile {
   public:
    /// Errors name the file and the system's reason. An empty file is one. The file must not shrink while it is mapped.
    static Result<MappedFile> open(const std::filesystem::path& file);
    MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~MappedFile();

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    /// To be called after each reading of so many bytes: the pages that were read leave this process's memory after
    /// some tens of megabytes, so that it does not count all of a large file. The system keeps them while it has room.
    void was_read(std::size_t bytes) const;

   private:
    explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::span<const std::byte> bytes_;
    mutable std::atomic<std::size_t> read_{0};
};

}  // namespace hpo
