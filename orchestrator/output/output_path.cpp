#include "orchestrator/output/output_path.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

namespace hpo {

namespace {

namespace fs = std::filesystem;

/// Returns an unused name for an existing file or folder, next to it and with the current time.
fs::path spare_name(const fs::path& path) {
    char time[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(time, sizeof time, ".old-%Y%m%d-%H%M%S", std::localtime(&now));
    fs::path spare = path.string() + time;
    std::error_code ignored;
    for (int n = 2; fs::symlink_status(spare, ignored).type() != fs::file_type::not_found; ++n)
        spare = path.string() + time + '-' + std::to_string(n);
    return spare;
}

bool is_free(const fs::path& path, OutputPath::Kind kind) {
    std::error_code failed;
    const auto type = fs::symlink_status(path, failed).type();
    if (type == fs::file_type::not_found) return true;
    return kind == OutputPath::Kind::folder && type == fs::file_type::directory && fs::is_empty(path, failed) &&
           !failed;
}

}  // namespace

Error write_error(const fs::path& path, int code) {
    if (code == ENOSPC || code == EDQUOT || code == EFBIG)
        return {path.string() + ": " + (code == EFBIG ? "the limit on file sizes is reached" : "the disk is full") +
                "; nothing was left behind: free some space, then run again"};
    return {path.string() + ": " + std::strerror(code)};
}

Result<OutputPath> OutputPath::at(const fs::path& given, Kind kind, bool force) {
    std::error_code failed;
    fs::path path = given.lexically_normal();
    if (path.filename().empty()) path = path.parent_path();  // "out/"
    if (fs::is_symlink(path, failed) && fs::exists(path, failed)) path = fs::canonical(path, failed);
    if (path.filename().empty() || path.filename() == "." || path.filename() == "..")
        return Error{"'" + given.string() + "' is not a name for " + (kind == Kind::file ? "a file" : "a new folder")};

    const auto type = fs::symlink_status(path, failed).type();
    if (type == fs::file_type::none) return write_error(path, failed.value());
    const bool folder = type == fs::file_type::directory;
    if (type != fs::file_type::not_found && !folder && type != fs::file_type::regular && type != fs::file_type::symlink)
        return Error{path.string() + ": is neither a file nor a folder; choose another name"};
    if (kind == Kind::file && folder) return Error{path.string() + ": is a folder; name a file"};
    if (kind == Kind::folder && type == fs::file_type::regular)
        return Error{path.string() + ": is a file; name a folder"};
    if (!is_free(path, kind) && !force)
        return Error{path.string() + ": already exists; choose another name, or add --force, which renames it"};

    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (fs::exists(parent, failed) && !fs::is_directory(parent, failed)) return write_error(parent, ENOTDIR);
    fs::path temporary = parent / ("." + path.filename().string() + ".new-" + std::to_string(::getpid()));
    fs::remove_all(temporary, failed);  // a killed process with the same pid may have left it
    if (kind == Kind::folder && !fs::create_directory(temporary, failed)) return write_error(parent, failed.value());
    if (kind == Kind::file && ::access(parent.c_str(), W_OK | X_OK) != 0) return write_error(parent, errno);
    return OutputPath(std::move(path), std::move(temporary), force);
}

Result<fs::path> OutputPath::finish() {
    std::error_code failed;
    fs::path aside;
    if (fs::symlink_status(path_, failed).type() != fs::file_type::not_found) {
        const bool empty_folder = fs::is_directory(temporary_, failed) && is_free(path_, Kind::folder);
        if (!force_ && !empty_folder)
            return Error{path_.string() + ": another program has created it meanwhile; choose another name"};
        if (!empty_folder) {
            aside = spare_name(path_);
            fs::rename(path_, aside, failed);
            if (failed) return write_error(path_, failed.value());
        }
    }
    fs::rename(temporary_, path_, failed);
    if (failed) {
        std::error_code ignored;
        if (!aside.empty()) fs::rename(aside, path_, ignored);
        return write_error(path_, failed.value());
    }
    temporary_.clear();
    return aside;
}

OutputPath::~OutputPath() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

OutputPath::OutputPath(OutputPath&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), force_(other.force_) {
    other.temporary_.clear();
}

Result<FileWriter> FileWriter::create(const fs::path& file, fs::path shown) {
    std::FILE* opened = std::fopen(file.c_str(), "wbxe");
    if (opened == nullptr) return write_error(shown, errno);
    return FileWriter(opened, std::move(shown));
}

Result<void> FileWriter::write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) return write_error(shown_, errno);
    return {};
}

Result<void> FileWriter::close(bool durable) {
    std::FILE* file = file_.get();
    if (std::fflush(file) != 0 || (durable && ::fsync(::fileno(file)) != 0)) return write_error(shown_, errno);
    if (std::fclose(file_.release()) != 0) return write_error(shown_, errno);
    return {};
}

Result<fs::path> write_whole(OutputPath& output, std::string_view text) {
    auto file = FileWriter::create(output.temporary(), output.path());
    if (!file) return file.error();
    if (auto written = file->write(text); !written) return written.error();
    if (auto closed = file->close(true); !closed) return closed.error();
    return output.finish();
}

Result<fs::path> write_whole(const fs::path& path, std::string_view text, bool force) {
    auto output = OutputPath::at(path, OutputPath::Kind::file, force);
    if (!output) return output.error();
    return write_whole(*output, text);
}

}  // namespace hpo
