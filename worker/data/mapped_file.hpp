// Files that are read in part: mapped into memory, or at a position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
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

/// A file that could be opened cannot be read any more.
struct UnreadableFile : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A file that is read here and there, by several threads at once. Unlike a mapping it takes no memory of the process:
/// the system keeps pages that were read while it has room.
class PositionedFile {
   public:
    /// Errors name the file and the system's reason.
    static Result<PositionedFile> open(const std::filesystem::path& file);
    PositionedFile(PositionedFile&& other) noexcept
        : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
    PositionedFile& operator=(PositionedFile&&) = delete;
    ~PositionedFile();

    [[nodiscard]] std::int64_t size() const { return size_; }  ///< bytes, when it was opened
    /// Throws UnreadableFile, which names the file, where it has become shorter.
    void read(std::int64_t offset, std::span<std::byte> to) const;

   private:
    PositionedFile(std::filesystem::path file, int descriptor, std::int64_t size)
        : file_(std::move(file)), descriptor_(descriptor), size_(size) {}
    std::filesystem::path file_;
    int descriptor_;
    std::int64_t size_;
};

}  // namespace hpo
