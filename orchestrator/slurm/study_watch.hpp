// Reads a study that another process runs, and tells an observer of `hpo run` its events.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "orchestrator/engine/runner.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"

namespace hpo::slurm {

/// The progress of a study's trials; compares greater the further it is.
struct Progress {
    std::int64_t ended = 0, steps = 0;
    auto operator<=>(const Progress&) const = default;
};
Progress progress_of(const StudyRecord& record);

/// Returns the progress of a stored study; none if it has not been started, or cannot be read.
Progress progress_of(const StudyFolder& folder);

/// Returns true if a study has no trial left to run: the budget of trials is used up, or its last session ended early
/// since no configuration was left to try. That session counts if it ran the same study: `stored` is the study file as
/// it was last run, and a raised budget or patience lets the study go on.
bool is_finished(const Study& study, const StudyRecord& record, const std::string& stored);

class StudyWatch {
   public:
    /// `study` and `observer` must outlive the object.
    StudyWatch(const Study& study, StudyFolder folder, RunObserver& observer)
        : study_(study), folder_(std::move(folder)), observer_(observer) {}

    /// Reads the new events, and tells the observer. Returns true if another process runs the study than before. A
    /// study that cannot be read now counts as unchanged.
    bool read();
    void draw();

    /// A new job has been submitted.
    void submitted();
    [[nodiscard]] bool progressed() const;
    /// Returns true if no trial is left to run. A session that ended before the job was submitted does not count for
    /// it.
    [[nodiscard]] bool finished() const;
    [[nodiscard]] bool at_limit() const;
    /// Returns true if a process has run the study since the first read, and none does now.
    [[nodiscard]] bool session_ended() const { return was_held_ && holder_ == 0; }

    /// Returns the outcome of the study's last session. Fails if the study has not begun. Call it last: read() is not
    /// allowed afterwards.
    Result<RunOutcome> outcome();

   private:
    struct Known {
        TrialState state = TrialState::queued;
        std::int64_t attempt = 0;
    };
    void tell_changes();
    [[nodiscard]] SessionView view() const;

    const Study& study_;
    StudyFolder folder_;
    RunObserver& observer_;
    std::optional<StudySnapshot> snapshot_;
    std::vector<Known> known_;
    bool begun_ = false;  ///< the observer was told
    std::int64_t holder_ = 0;
    bool was_held_ = false;
    Progress at_submission_;
    std::int64_t sequence_at_submission_ = 0;
};

}  // namespace hpo::slurm
