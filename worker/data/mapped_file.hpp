// The bytes of a file, mapped into memory: they are read when they are used.
#pragma once

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

   private:
    explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::span<const std::byte> bytes_;
};

}  // namespace hpo
