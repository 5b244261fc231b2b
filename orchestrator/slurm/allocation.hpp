// `hpo run` within a job of Slurm: ends in time for the limit, and lets the job be queued again.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/engine/runner.hpp"
#include "orchestrator/slurm/commands.hpp"
#include "orchestrator/slurm/study_watch.hpp"

namespace hpo::slurm {

/// Returns the id of the job in which this process runs.
std::optional<std::string> own_job();

/// Lets SIGUSR1, which Slurm sends before the limit (sbatch --signal=B:USR1@60), end the session as SIGTERM does. Call
/// it within a job.
void heed_time_limit();

/// Returns true if `hpo run --on slurm` has submitted the job of this process, for the study in this folder.
bool is_job_of(const StudyFolder& folder);

/// Returns true if the job of this process waits while another process runs the study: if it is_job_of() the study, or
/// Slurm has started it again. A node whose slurmd has crashed counts as lost, while hpo may go on there.
bool awaits_others(const StudyFolder& folder);

/// Waits until no other process runs the study, ten minutes at most, and says so on stderr. Returns false if the time
/// limit of the job comes near meanwhile. Throws Fatal, with the process to end, if it does not end in time.
bool await_end_of_others(Commands& commands, const StudyFolder& folder);

/// Returns why the session ended, if Slurm ended it with trials left to run, and another job can go on: its time limit
/// is near, or, in a job that is_job_of() the study, all its nodes are lost, as when another job preempts it. Empty: it
/// ended otherwise.
std::string why_next_job(const RunOutcome& outcome, const StudyFolder& folder);

/// Lets Slurm queue the job again, whose session began with the progress `before`. Returns the exit status of this
/// process, and prints `why` and the consequence. Throws Fatal if this job and the one before got no trial further.
int queue_again(Commands& commands, const std::string& job, const StudyFolder& folder, const Progress& before,
                const RunOutcome& outcome, const std::string& why);

}  // namespace hpo::slurm
