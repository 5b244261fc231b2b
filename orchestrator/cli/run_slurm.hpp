// hpo run --on slurm: submits a job and follows it; within a job, runs the study.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/cli/run_arguments.hpp"
#include "orchestrator/engine/runner.hpp"
#include "orchestrator/slurm/study_watch.hpp"
#include "orchestrator/slurm/submit.hpp"

namespace hpo {

/// Returns true if the study is to run in a job of Slurm that is not this process's.
bool runs_in_a_job(const RunArguments& arguments);

/// Throws Fatal if the study is given as something that a job cannot read, such as a pipe of this process.
void refuse_study_for_a_job(const RunArguments& arguments);

/// Prints the job's script, and returns the exit code. Changes nothing. Throws Fatal without --on slurm.
int print_job(const RunArguments& arguments, const Study& study, const Programs& programs);

/// Asks Slurm whether the job of `hpo run FILE --on slurm` could start, and submits none. Throws Fatal with exit status
/// 2 if Slurm does not answer.
slurm::Forecast forecast_on_slurm(const RunArguments& arguments, const Study& study, const Programs& programs);

/// Submits the study's job or finds it, and follows it to its end (slurm/follow.hpp). Submits none for a study that is
/// finished. `accepted` decides whether a stored study may continue as this one.
RunOutcome run_on_slurm(const RunArguments& arguments, const Study& study, const StudyFolder& folder,
                        const Programs& programs, RunObserver& observer, const Acceptance& accepted);

/// `hpo run` as the process of a job.
class OwnJob {
   public:
    /// Returns the job of this process, whose time limit then ends the session; nothing outside of a job.
    static std::optional<OwnJob> find();

    /// Waits while another process runs the study, where that may be another start of this job. Returns the exit status
    /// of this process if the job was queued again meanwhile.
    std::optional<int> await_turn(const StudyFolder& folder);
    /// Lets Slurm queue the job again if Slurm ended the session with trials left to run. Returns the exit status of
    /// this process then.
    std::optional<int> queue_again(const RunOutcome& outcome, const StudyFolder& folder);

   private:
    explicit OwnJob(std::string id) : id_(std::move(id)) {}

    std::string id_;
    slurm::Progress before_;  ///< of the study as the session began
};

}  // namespace hpo
