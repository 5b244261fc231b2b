// A study as a viewer sees it: read-only, refreshed by what was appended since.
#pragma once

#include <memory>
#include <optional>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/view/detail.hpp"

namespace hpo {

/// Of the trials' curves it has the best and the last step: the time does not grow with the steps of a study.
struct StudySnapshot {
    StudyFolder folder;
    Study study;
    StudyRecord record;            ///< trials left running by a killed holder count as queued
    std::optional<Holder> holder;  ///< who runs it now
    std::unique_ptr<Store> store;

    /// Reads on from record.sequence.
    Result<void> refresh();
    /// Reads all steps of one trial, if it is thinned.
    Result<void> read_steps(std::int64_t trial);
    /// The same for a copy of it: a study may have more steps than there is memory.
    [[nodiscard]] Result<TrialRecord> whole(TrialRecord trial) const;
    /// The trial; ends the command with what exists if there is none of that number.
    [[nodiscard]] const TrialRecord& trial(std::int64_t number) const;
};

/// Where a trial's log and folder lie; what is not there is empty.
view::TrialFiles files_of(const StudyFolder& folder, std::int64_t trial);

/// Opens and reads a study.
Result<StudySnapshot> take_snapshot(const StudyFolder& folder);

/// The same for a command that cannot go on without: ends it with the reason.
StudySnapshot snapshot_or_fail(const StudyFolder& folder);

}  // namespace hpo
