// Which checkpoints of ended trials stay on disk: the best steps of the best trials, so that a study of 10,000 trials
// does not fill the disk.
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// Trials whose best checkpoint is kept.
inline constexpr std::size_t kept_checkpoints = 5;

/// `record` is the study's, read at each call. Unfinished trials are never touched.
class CheckpointKeeper {
   public:
    CheckpointKeeper(const Study& study, const StudyFolder& folder, const StudyRecord& record)
        : study_(study), folder_(folder), record_(record) {}

    /// The trial has ended and no worker holds it: its last checkpoint goes, and so does every best one outside the
    /// best five.
    void trial_ended(const TrialRecord& trial);

   private:
    const Study& study_;
    const StudyFolder& folder_;
    const StudyRecord& record_;
    std::vector<std::int64_t> kept_;  ///< best first
};

}  // namespace hpo
