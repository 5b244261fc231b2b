// Writes a file or a folder either completely or not at all. It is created under a temporary name in the same parent
// folder and renamed at the end. Existing files are never destroyed.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "hpo/result.hpp"

namespace hpo {

/// Consumes the next bytes of an export. An Error ends the export.
using Sink = std::function<Result<void>(std::string_view)>;

/// The path of a file or a folder, from the check that it is free to the rename.
class OutputPath {
   public:
    enum class Kind { file, folder };

    /// Checks the path. Fails if something other than an empty folder exists there and `force` is not set, if it exists
    /// and is not of this kind, or if its parent folder cannot be written. Links are followed.
    static Result<OutputPath> at(const std::filesystem::path& path, Kind kind, bool force);

    /// Returns the path to write to: for a file one that does not exist yet, for a folder an empty one.
    [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
    /// Returns the final path.
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Renames the output to its final name. Renames an existing file or folder first and returns its new name, or an
    /// empty path if there was none.
    Result<std::filesystem::path> finish();

    /// Removes the output if it was not finished.
    ~OutputPath();
    OutputPath(OutputPath&& other) noexcept;
    OutputPath& operator=(OutputPath&&) = delete;

   private:
    OutputPath(std::filesystem::path path, std::filesystem::path temporary, bool force)
        : path_(std::move(path)), temporary_(std::move(temporary)), force_(force) {}
    std::filesystem::path path_, temporary_;
    bool force_;
};

/// Writes a new file. Error messages have the system's reason and contain the path `shown`.
class FileWriter {
   public:
    static Result<FileWriter> create(const std::filesystem::path& file, std::filesystem::path shown);
    Result<void> write(std::string_view bytes);
    /// Passes all bytes to the system. If `durable`, also waits until they are on the disk.
    Result<void> close(bool durable);

   private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    FileWriter(std::FILE* file, std::filesystem::path shown) : file_(file), shown_(std::move(shown)) {}
    std::unique_ptr<std::FILE, Close> file_;
    std::filesystem::path shown_;
};

/// Writes `text` as the whole file, durably, and finishes it. Returns as OutputPath::finish() does.
Result<std::filesystem::path> write_whole(OutputPath& output, std::string_view text);
/// Does the same for a path. Only `force` allows that a file exists there.
Result<std::filesystem::path> write_whole(const std::filesystem::path& path, std::string_view text, bool force);

/// Returns an error such as "PATH: the disk is full: free some space, then run again" or "PATH: Permission denied".
Error write_error(const std::filesystem::path& path, int code);

}  // namespace hpo
