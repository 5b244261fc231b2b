// Removes files of ended trials, so that a study of 10,000 trials does not fill the disk. Only files that hpo wrote
// itself are removed; those that a script has written to its trial's folder only if the study's `keep` says so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/standing.hpp"
#include "hpo/study.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// The best `most` of the ended trials, without diverged and failed ones. With several objectives: the whole Pareto
/// front, of any size.
class BestTrials {
   public:
    /// `most` absent: all trials, in any final state; 0: none.
    BestTrials(std::optional<std::int64_t> most, Objective objective) : most_(most), objective_(std::move(objective)) {}

    /// Adds an ended trial (once). Returns the trials that it displaces from the best.
    std::vector<std::int64_t> add(const TrialRecord& trial);
    /// Updates the rank of an ended trial after a further seed of its configuration. A trial that was displaced before
    /// does not come back, as its files are gone.
    void moved(const TrialRecord& trial);
    [[nodiscard]] bool hold(std::int64_t trial) const { return !most_ || held_.contains(trial); }

   private:
    std::optional<std::int64_t> most_;
    Objective objective_;
    std::map<std::int64_t, Standing> held_;
};

/// Removes files by the study's `keep`. `record` is read at each call. Files of unfinished trials are never touched.
class CheckpointKeeper {
   public:
    CheckpointKeeper(const Study& study, const StudyFolder& folder, const StudyRecord& record);

    /// Removes files that earlier sessions left, because they were killed or had another `keep`.
    void begin();
    /// Call it when the trial has ended and no worker holds it.
    void trial_ended(const TrialRecord& trial);

   private:
    void tidy(std::int64_t trial) const;

    const Study& study_;
    const StudyFolder& folder_;
    const StudyRecord& record_;
    BestTrials checkpoints_;
    BestTrials folders_;
};

}  // namespace hpo
