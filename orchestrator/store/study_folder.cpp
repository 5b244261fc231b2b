#include "orchestrator/store/study_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "hpo/descriptor.hpp"
#include "hpo/regular_file.hpp"

namespace hpo {
namespace fs = std::filesystem;

namespace {

std::string trial_name(std::int64_t trial) {
    char text[32];
    std::snprintf(text, sizeof text, "trial-%04lld", static_cast<long long>(trial));
    return text;
}

std::vector<fs::path> folders(const StudyFolder& folder) {
    return {folder.path, folder.path / "logs", folder.path / "checkpoints"};
}

std::vector<fs::path> log_files(const StudyFolder& folder) { return {folder.log(), folder.path / "hpo.1.log"}; }

std::vector<fs::path> files(const StudyFolder& folder) {
    std::vector<fs::path> all{folder.lock()};
    for (const fs::path& log : log_files(folder)) all.push_back(log);
    all.push_back(folder.yaml());
    for (const char* name :
         {"study.db", "study.db-wal", "study.db-shm", "study.db-journal", "study.db-results", "study.db.new"})
        all.push_back(folder.path / name);
    return all;
}

/// Returns the folder and the entries that hpo creates in it, except those of single trials.
std::vector<fs::path> parts(const StudyFolder& folder) {
    std::vector<fs::path> all = folders(folder);
    for (const fs::path& file : files(folder)) all.push_back(file);
    return all;
}

}  // namespace

fs::file_time_type last_change(const StudyFolder& study) {
    const fs::path log = study.database().string() + "-wal";
    std::error_code error;
    auto time = fs::last_write_time(study.database(), error);
    if (error) time = fs::file_time_type::min();
    if (const auto size = fs::file_size(log, error); error || size == 0) return time;
    const auto log_time = fs::last_write_time(log, error);
    return error ? time : std::max(time, log_time);
}

fs::path StudyFolder::trial_log(std::int64_t trial) const { return path / "logs" / (trial_name(trial) + ".log"); }
fs::path StudyFolder::checkpoints(std::int64_t trial) const { return path / "checkpoints" / trial_name(trial); }

std::vector<std::int64_t> StudyFolder::trials_with_checkpoints() const {
    std::vector<std::int64_t> trials;
    std::error_code error;
    for (fs::directory_iterator entry(path / "checkpoints", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        const auto digits = name.find_first_of("0123456789");
        std::int64_t trial = 0;
        if (digits == std::string::npos) continue;
        std::from_chars(name.data() + digits, name.data() + name.size(), trial);
        if (name == trial_name(trial)) trials.push_back(trial);
    }
    return trials;
}

fs::path runs_folder() {
    const char* given = std::getenv("HPO_RUNS");
    return given && *given ? fs::path(given) : fs::path("runs");
}

bool is_study_name(const std::string& name) {
    static constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return !name.empty() && name.size() <= 64 && name[0] != '.' && name[0] != '-' &&
           name.find_first_not_of(allowed) == std::string::npos;
}

StudyFolder study_folder(const std::string& name) { return {runs_folder() / name}; }

std::vector<StudyFolder> list_studies(const fs::path& runs) {
    std::vector<std::pair<fs::file_time_type, StudyFolder>> found;
    std::error_code error;
    for (fs::directory_iterator entry(runs, error), end; !error && entry != end; entry.increment(error)) {
        const StudyFolder study{entry->path()};
        std::error_code ignored;
        if (is_study_name(study.name()) && fs::exists(study.database(), ignored))
            found.emplace_back(last_change(study), study);
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second.path < b.second.path;
    });
    std::vector<StudyFolder> studies;
    for (auto& [time, study] : found) studies.push_back(std::move(study));
    return studies;
}

std::vector<StudyFolder> list_submitted_studies(const fs::path& runs) {
    std::vector<StudyFolder> studies;
    std::error_code error;
    for (fs::directory_iterator entry(runs, error), end; !error && entry != end; entry.increment(error)) {
        const StudyFolder study{entry->path()};
        std::error_code ignored;
        if (is_study_name(study.name()) && fs::exists(study.job_script(), ignored) &&
            !fs::exists(study.database(), ignored))
            studies.push_back(study);
    }
    std::sort(studies.begin(), studies.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return studies;
}

Result<void> make_study_folder(const StudyFolder& folder) {
    if (const fs::path link = planted_link(folder, ::geteuid()); !link.empty())
        return Error{link.string() +
                     ": a symbolic link that somebody else has made here; nothing was written through it: remove it, "
                     "or set HPO_RUNS to a folder of your own"};
    for (const fs::path& file : files(folder))
        if (const auto regular = check_regular(file); !regular) return regular;
    for (const fs::path& log : log_files(folder))
        if (std::error_code ignored; fs::is_symlink(fs::symlink_status(log, ignored)))
            return Error{log.string() + ": a symbolic link, through which no log is written: remove it"};
    for (const fs::path& path : folders(folder)) {
        std::error_code error;
        fs::create_directories(path, error);
        if (error) return Error{path.string() + ": the folder cannot be made: " + error.message()};
        if (::access(path.c_str(), W_OK) != 0) return Error{path.string() + ": the folder is read-only"};
    }
    return {};
}

fs::path planted_link(const StudyFolder& folder, uid_t me) {
    for (const fs::path& path : parts(folder)) {
        struct stat info {};
        if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) && info.st_uid != me && info.st_uid != 0)
            return path;
    }
    return {};
}

std::vector<fs::path> missing_parts(const StudyFolder& folder) {
    std::error_code ignored;
    const auto missing = [&](const fs::path& path) {
        return fs::symlink_status(path, ignored).type() == fs::file_type::not_found;
    };
    std::vector<fs::path> all;
    for (fs::path around = folder.path.parent_path(); !around.empty() && missing(around); around = around.parent_path())
        all.insert(all.begin(), around);
    const bool new_database = missing(folder.database());  // else its readers may have created the files beside it
    for (const fs::path& path : parts(folder))
        if (missing(path) && (new_database || !path.filename().string().starts_with("study.db"))) all.push_back(path);
    return all;
}

Takeback::~Takeback() {
    std::error_code ignored;
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, ignored);  // folders: if empty
}

Result<void> replace_file(const fs::path& file, std::string_view text) {
    if (auto regular = check_regular(file); !regular) return regular;
    std::ifstream there(file, std::ios::binary);
    if (there && std::string(std::istreambuf_iterator<char>(there), {}) == text) return {};
    fs::path draft = file;
    draft += ".new";
    const auto failed = [&] {
        const int code = errno;
        ::unlink(draft.c_str());
        return Error{file.string() + ": " + std::strerror(code)};
    };
    ::unlink(draft.c_str());  // draft of a killed process
    const Descriptor out(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!out) return failed();
    while (!text.empty()) {
        const ssize_t written = ::write(out.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return failed();
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(out.get()) != 0 || ::rename(draft.c_str(), file.c_str()) != 0) return failed();
    return {};
}

}  // namespace hpo
