// What a command leaves behind in a file or a folder: whole, or not at all. Everything is made beside its place under a
// temporary name and renamed to it at the end. Nothing that is there is ever destroyed.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "hpo/result.hpp"

namespace hpo::exporting {

/// Takes the next bytes. An Error ends the export.
using Sink = std::function<Result<void>(std::string_view)>;

/// A place for a file or a folder, from the check that it is free to the rename.
class Output {
   public:
    enum class Kind { file, folder };

    /// Refused: a place where something is, unless `force` (an empty folder is free for a folder); something that is
    /// neither file nor folder, or not of this kind; a folder around it that is missing. A link leads to its target.
    static Result<Output> at(const std::filesystem::path& path, Kind kind, bool force);

    /// Where to write: does not exist yet (file) or is an empty folder.
    [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Gives it its name. What was there has another one from now on, which is returned; empty: nothing was there.
    Result<std::filesystem::path> finish();

    /// Removes what was not finished.
    ~Output();
    Output(Output&& other) noexcept;
    Output& operator=(Output&&) = delete;

   private:
    Output(std::filesystem::path path, std::filesystem::path temporary, bool force)
        : path_(std::move(path)), temporary_(std::move(temporary)), force_(force) {}
    std::filesystem::path path_, temporary_;
    bool force_;
};

/// A new file that is written through, with the system's reason when that fails. Errors name `shown`.
class FileWriter {
   public:
    static Result<FileWriter> create(const std::filesystem::path& file, std::filesystem::path shown);
    Result<void> write(std::string_view bytes);
    /// All bytes are with the system, and with `durable` on the disk.
    Result<void> close(bool durable);

   private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    FileWriter(std::FILE* file, std::filesystem::path shown) : file_(file), shown_(std::move(shown)) {}
    std::unique_ptr<std::FILE, Close> file_;
    std::filesystem::path shown_;
};

/// "PLACE: the disk is full: free some space, then run again", "PLACE: Permission denied", ...
Error write_error(const std::filesystem::path& path, int code);

}  // namespace hpo::exporting
