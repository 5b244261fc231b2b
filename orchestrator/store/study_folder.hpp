// Where a study lies: runs/<study>/ below the current folder, or below $HPO_RUNS.
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
    [[nodiscard]] std::filesystem::path trial_log(std::int64_t trial) const;    ///< logs/trial-0001.log
    [[nodiscard]] std::filesystem::path checkpoints(std::int64_t trial) const;  ///< checkpoints/trial-0001
    /// The trials that have a folder for checkpoints, in no order.
    [[nodiscard]] std::vector<std::int64_t> trials_with_checkpoints() const;
};

/// $HPO_RUNS, or "runs".
std::filesystem::path runs_folder();

/// The names a study may have: [A-Za-z0-9._-]{1,64} without a leading dot, so that its folder lies where it belongs,
/// and without a leading '-', which a command line would take for an option.
bool is_study_name(const std::string& name);

/// The folder of a study, whether or not it is there. `name` is a study's name.
StudyFolder study_folder(const std::string& name);

/// Every study below `runs` (folders with a database), the one changed last first; equally old ones by name.
std::vector<StudyFolder> list_studies(const std::filesystem::path& runs);

/// Makes the folder and those for logs and checkpoints. An Error names what cannot be made, and why; or a file of the
/// study that is no regular one; or a file or folder of it that is a symbolic link of somebody else's: in a folder that
/// others can write to, it would lead our writing to a place that they chose. Links of one's own and of root's are
/// followed, but for the study's log.
Result<void> make_study_folder(const StudyFolder& folder);

/// The link that make_study_folder() refuses, for the user `me`; empty: there is none.
std::filesystem::path planted_link(const StudyFolder& folder, uid_t me);

/// What of a study's folder and in it is not there yet: what a run makes before it is accepted. The innermost last.
std::vector<std::filesystem::path> missing_parts(const StudyFolder& folder);

/// Takes back what was made for a run that was not accepted, so that a refused command leaves everything as it was. For
/// the holder of the study alone, and gone before its lock is.
class Takeback {
   public:
    explicit Takeback(std::vector<std::filesystem::path> made) : made_(std::move(made)) {}
    Takeback(Takeback&& other) noexcept : made_(std::exchange(other.made_, {})) {}
    Takeback(const Takeback&) = delete;
    Takeback& operator=(const Takeback&) = delete;
    ~Takeback();
    /// The run is accepted: all stays.
    void forget() { made_.clear(); }

   private:
    std::vector<std::filesystem::path> made_;
};

/// Puts `text` into `file`: written beside it, synced and renamed, so that it is there whole, or as it was before. A
/// file with this text already is not touched; a link is replaced, not followed.
Result<void> replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace hpo
