// The folder of a study: runs/<study>/ below the current folder, or below $HPO_RUNS.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

struct StudyFolder {
    std::filesystem::path path;

    [[nodiscard]] std::string name() const { return path.filename().string(); }
    [[nodiscard]] std::filesystem::path database() const { return path / "study.db"; }
    [[nodiscard]] std::filesystem::path yaml() const { return path / "study.yaml"; }  ///< as accepted
    [[nodiscard]] std::filesystem::path log() const { return path / "hpo.log"; }
    [[nodiscard]] std::filesystem::path lock() const { return path / "lock"; }
    [[nodiscard]] std::filesystem::path job_script() const { return path / "slurm.sh"; }  ///< of its job of Slurm
    [[nodiscard]] std::filesystem::path trial_log(std::int64_t trial) const;              ///< logs/trial-0001.log
    [[nodiscard]] std::filesystem::path checkpoints(std::int64_t trial) const;            ///< checkpoints/trial-0001
    /// Returns the trials with a folder for checkpoints, in no order.
    [[nodiscard]] std::vector<std::int64_t> trials_with_checkpoints() const;
};

/// Returns the time of a study's last change. Between checkpoints only the log changes. Readers leave an empty log,
/// which is no change.
std::filesystem::file_time_type last_change(const StudyFolder& study);

/// $HPO_RUNS, or "runs".
std::filesystem::path runs_folder();

/// Returns true for valid names of studies: [A-Za-z0-9._-]{1,64} without a leading dot, so that the folder stays below
/// runs/, and without a leading '-', which a command line would read as an option.
bool is_study_name(const std::string& name);

/// Returns the folder of the study with this valid name, which may not exist.
StudyFolder study_folder(const std::string& name);

/// Returns the studies below `runs` (folders with a database), the last changed first; equally old ones by name.
std::vector<StudyFolder> list_studies(const std::filesystem::path& runs);

/// Returns the folders below `runs` of studies that have not begun, since a job of Slurm was submitted for them, by
/// name.
std::vector<StudyFolder> list_submitted_studies(const std::filesystem::path& runs);

/// Creates the folder and those for logs and checkpoints. Fails with the path and the reason if one cannot be created,
/// if a file of the study is no regular file, or if a file or folder of the study is another user's symbolic link,
/// which could redirect writes to any place. Links of this user and of root are followed, except for the study's log.
Result<void> make_study_folder(const StudyFolder& folder);

/// Returns the link that make_study_folder() refuses for the user `me`; empty if there is none.
std::filesystem::path planted_link(const StudyFolder& folder, uid_t me);

/// Returns the missing files and folders that a run creates before it is accepted, the innermost last.
std::vector<std::filesystem::path> missing_parts(const StudyFolder& folder);

/// Removes the files of a run that was not accepted, so that a refused command changes nothing. For the holder of the
/// study alone; destroyed before its lock.
class Takeback {
   public:
    explicit Takeback(std::vector<std::filesystem::path> made) : made_(std::move(made)) {}
    Takeback(Takeback&& other) noexcept : made_(std::exchange(other.made_, {})) {}
    Takeback(const Takeback&) = delete;
    Takeback& operator=(const Takeback&) = delete;
    ~Takeback();
    /// Keeps all files, once the run is accepted.
    void forget() { made_.clear(); }

   private:
    std::vector<std::filesystem::path> made_;
};

/// Replaces the content of `file` atomically: writes a file beside it, syncs and renames it. Does not touch a file with
/// this text already. Replaces a link instead of following it.
Result<void> replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace hpo
