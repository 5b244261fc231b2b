#include "orchestrator/exchange/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

namespace hpo::exchange {

namespace {

namespace fs = std::filesystem;

/// Another name beside `place`, which nothing has.
fs::path spare_name(const fs::path& place) {
    char time[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(time, sizeof time, ".old-%Y%m%d-%H%M%S", std::localtime(&now));
    fs::path spare = place.string() + time;
    std::error_code ignored;
    for (int n = 2; fs::symlink_status(spare, ignored).type() != fs::file_type::not_found; ++n)
        spare = place.string() + time + '-' + std::to_string(n);
    return spare;
}

bool is_free(const fs::path& place, Output::Kind kind) {
    std::error_code failed;
    const auto type = fs::symlink_status(place, failed).type();
    if (type == fs::file_type::not_found) return true;
    return kind == Output::Kind::folder && type == fs::file_type::directory && fs::is_empty(place, failed) && !failed;
}

}  // namespace

Error write_error(const fs::path& place, int code) {
    if (code == ENOSPC || code == EDQUOT || code == EFBIG)
        return {place.string() + ": " + (code == EFBIG ? "the limit on file sizes is reached" : "the disk is full") +
                "; nothing was left behind: make room, then run again"};
    return {place.string() + ": " + std::strerror(code)};
}

Result<Output> Output::at(const fs::path& asked, Kind kind, bool force) {
    std::error_code failed;
    fs::path place = asked.lexically_normal();
    if (place.filename().empty()) place = place.parent_path();  // "out/"
    if (fs::is_symlink(place, failed) && fs::exists(place, failed)) place = fs::canonical(place, failed);
    if (place.filename().empty() || place.filename() == "." || place.filename() == "..")
        return Error{"'" + asked.string() + "' is no name for " + (kind == Kind::file ? "a file" : "a new folder")};

    const auto type = fs::symlink_status(place, failed).type();
    if (type == fs::file_type::none) return write_error(place, failed.value());
    const bool folder = type == fs::file_type::directory;
    if (type != fs::file_type::not_found && !folder && type != fs::file_type::regular && type != fs::file_type::symlink)
        return Error{place.string() + ": neither a file nor a folder; it is left alone"};
    if (kind == Kind::file && folder) return Error{place.string() + ": a folder; name a file"};
    if (kind == Kind::folder && type == fs::file_type::regular)
        return Error{place.string() + ": a file; name a folder"};
    if (!is_free(place, kind) && !force)
        return Error{place.string() + ": exists already; choose another name, or give --force, which sets it aside"};

    const fs::path parent = place.has_parent_path() ? place.parent_path() : fs::path(".");
    if (fs::exists(parent, failed) && !fs::is_directory(parent, failed)) return write_error(parent, ENOTDIR);
    fs::path draft = parent / ("." + place.filename().string() + ".new-" + std::to_string(::getpid()));
    fs::remove_all(draft, failed);  // of a killed process that had this number
    if (kind == Kind::folder && !fs::create_directory(draft, failed)) return write_error(parent, failed.value());
    if (kind == Kind::file && ::access(parent.c_str(), W_OK | X_OK) != 0) return write_error(parent, errno);
    return Output(std::move(place), std::move(draft), force);
}

Result<fs::path> Output::finish() {
    std::error_code failed;
    fs::path aside;
    if (fs::symlink_status(place_, failed).type() != fs::file_type::not_found) {
        const bool empty_folder = fs::is_directory(draft_, failed) && is_free(place_, Kind::folder);
        if (!force_ && !empty_folder)
            return Error{place_.string() + ": was made by somebody else meanwhile; choose another name"};
        if (!empty_folder) {
            aside = spare_name(place_);
            fs::rename(place_, aside, failed);
            if (failed) return write_error(place_, failed.value());
        }
    }
    fs::rename(draft_, place_, failed);
    if (failed) {
        std::error_code ignored;
        if (!aside.empty()) fs::rename(aside, place_, ignored);
        return write_error(place_, failed.value());
    }
    draft_.clear();
    return aside;
}

Output::~Output() {
    std::error_code ignored;
    if (!draft_.empty()) fs::remove_all(draft_, ignored);
}

Output::Output(Output&& other) noexcept
    : place_(std::move(other.place_)), draft_(std::move(other.draft_)), force_(other.force_) {
    other.draft_.clear();
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

}  // namespace hpo::exchange
