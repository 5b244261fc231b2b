// `hpo run` within a job of Slurm: ends in time for the limit, and lets the job be queued again.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "orchestrator/engine/runner.hpp"
#include "orchestrator/slurm/commands.hpp"
#include "orchestrator/slurm/study_watch.hpp"

namespace hpo::slurm {

/// Returns the id of the job in which this process runs.
std::optional<std::string> own_job();

/// From now on SIGUSR1, which Slurm sends before the limit (sbatch --signal=B:USR1@60), ends the session as SIGTERM
/// does. Call it within a job.
void heed_time_limit();

/// Returns why the session ended, if Slurm ended it with trials left to run, and another job can go on: its time limit
/// is near, or, in a job that `hpo run --on slurm` has submitted (its name is `job_name`), all its nodes are lost, as
/// when another job preempts it. Empty: it ended otherwise.
std::string why_next_job(const RunOutcome& outcome, const std::string& job_name);

/// Lets Slurm queue the job again, whose session began with the progress `before`. Returns the exit status of this
/// process, and prints `why` and what follows. Throws Fatal if this job and the one before got no trial further.
int queue_again(Commands& commands, const std::string& job, const StudyFolder& folder, const Progress& before,
                const RunOutcome& outcome, const std::string& why);

}  // namespace hpo::slurm
