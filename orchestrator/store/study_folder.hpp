// Where a study lies: runs/<study>/ below the current folder, or below $HPO_RUNS.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
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

/// Makes the folder and those for logs and checkpoints. An Error names what cannot be made, and why.
Result<void> make_study_folder(const StudyFolder& folder);

}  // namespace hpo
