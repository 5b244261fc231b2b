// A read-only view of a study that can be refreshed while another process runs it.
#pragma once

#include <memory>
#include <optional>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// A study as read at one moment. Curves are thinned to the best and the last step, so that reading takes the same time
/// however many steps the trials have.
struct StudySnapshot {
    StudyFolder folder;
    Study study;
    StudyRecord record;            ///< trials that a killed holder left running count as queued
    std::optional<Holder> holder;  ///< the process that runs the study now; absent if none does
    std::unique_ptr<Store> store;

    /// Reads the events that were stored since the last call.
    Result<void> refresh();
    /// Reads the parameters of one trial into `record`, if trials were read without.
    Result<void> read_parameters(std::int64_t trial);
    /// Reads all steps of one trial into `record`. Does nothing if they have been read.
    Result<void> read_steps(std::int64_t trial);
    /// Returns `trial` with all its steps and leaves `record` unchanged. A caller can thus visit all trials of a study
    /// whose steps do not fit in memory together.
    [[nodiscard]] Result<TrialRecord> whole(TrialRecord trial) const;
    /// Returns the trial. Throws Fatal with the range of existing numbers if there is no such trial.
    [[nodiscard]] const TrialRecord& trial(std::int64_t number) const;

   private:
    Result<void> read_events();
    Result<void> read_steps_before(const event::Reported& step);
};

/// Opens and reads a study. Fails if it has not been started, or if its store or its stored file cannot be read.
/// Running trials have all parts. With several objectives or constraints, TrialParts::standing has metrics of each
/// trial.
Result<StudySnapshot> take_snapshot(const StudyFolder& folder, TrialParts parts = TrialParts::shown);

/// Warns on standard error, once, if results that were reported are not in the study's database any more.
void warn_of_missing_results(const StudySnapshot& snapshot);

/// Like take_snapshot, but warns of missing results, and throws Fatal with the reason if it fails.
StudySnapshot snapshot_or_fail(const StudyFolder& folder, TrialParts parts = TrialParts::shown);

}  // namespace hpo
