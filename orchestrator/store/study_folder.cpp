#include "orchestrator/store/study_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace hpo {
namespace fs = std::filesystem;

namespace {

std::string trial_name(std::int64_t trial) {
    char text[32];
    std::snprintf(text, sizeof text, "trial-%04lld", static_cast<long long>(trial));
    return text;
}

/// The log grows between checkpoints while the database itself stays as it is. Readers leave an empty log: no change.
fs::file_time_type changed(const StudyFolder& study) {
    const fs::path log = study.database().string() + "-wal";
    std::error_code error;
    auto time = fs::last_write_time(study.database(), error);
    if (error) time = fs::file_time_type::min();
    if (const auto size = fs::file_size(log, error); error || size == 0) return time;
    const auto log_time = fs::last_write_time(log, error);
    return error ? time : std::max(time, log_time);
}

}  // namespace

fs::path StudyFolder::trial_log(std::int64_t trial) const { return path / "logs" / (trial_name(trial) + ".log"); }
fs::path StudyFolder::checkpoints(std::int64_t trial) const { return path / "checkpoints" / trial_name(trial); }

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
            found.emplace_back(changed(study), study);
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second.path < b.second.path;
    });
    std::vector<StudyFolder> studies;
    for (auto& [time, study] : found) studies.push_back(std::move(study));
    return studies;
}

Result<void> make_study_folder(const StudyFolder& folder) {
    for (const fs::path& path : {folder.path, folder.path / "logs", folder.path / "checkpoints"}) {
        std::error_code error;
        fs::create_directories(path, error);
        if (error) return Error{path.string() + ": the folder cannot be made: " + error.message()};
        if (::access(path.c_str(), W_OK) != 0) return Error{path.string() + ": the folder is read-only"};
    }
    return {};
}

}  // namespace hpo
