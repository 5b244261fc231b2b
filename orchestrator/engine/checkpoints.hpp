// What stays on disk of trials that have ended. Only files that hpo wrote itself are removed, so that a study of 10,000
// trials does not fill the disk; what a script has put into its trial's folder goes only where the study's `keep` says
// so.
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

/// The best of the trials that have ended, so many of them; with several objectives those of the Pareto front, however
/// many. Diverged and failed ones are never among them.
class BestTrials {
   public:
    /// `most` absent: all trials, whatever became of them; 0: none.
    BestTrials(std::optional<std::int64_t> most, Objective objective) : most_(most), objective_(std::move(objective)) {}

    /// One has ended; returns the trials that are not among the best any more. Told twice, it counts once.
    std::vector<std::int64_t> add(const TrialRecord& trial);
    /// A trial that has ended stands elsewhere, since a further seed of its configuration has ended. If it is not among
    /// the best any more, its files are gone, and it does not come back.
    void moved(const TrialRecord& trial);
    [[nodiscard]] bool hold(std::int64_t trial) const { return !most_ || held_.contains(trial); }

   private:
    std::optional<std::int64_t> most_;
    Objective objective_;
    std::map<std::int64_t, Standing> held_;
};

/// `record` is the study's, read at each call. Trials that have not ended are never touched.
class CheckpointKeeper {
   public:
    CheckpointKeeper(const Study& study, const StudyFolder& folder, const StudyRecord& record);

    /// A session begins: what earlier ones left (they may have been killed, or kept more) is brought in line.
    void begin();
    /// The trial has ended and no worker holds it.
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
