// Follows a study that a job of Slurm runs: the state of the job, and the progress of the study as its viewers read it.
#pragma once

#include <string>

#include "orchestrator/engine/runner.hpp"
#include "orchestrator/slurm/commands.hpp"
#include "orchestrator/slurm/job.hpp"

namespace hpo::slurm {

struct Following {
    const Study& study;
    StudyFolder folder;
    Job job;
    std::string again;  ///< the command that follows it again: "hpo run study.yaml --on slurm"
};

/// Submits the study's job, or finds it in the queue, follows it to its end and submits the next where Slurm has ended
/// it too early. Returns how the study ended, `has_begun` false if its job ended before it began. On a signal it leaves
/// the job running, and says how to go on; on a terminal Ctrl-C asks whether to cancel the job. Throws Fatal with exit
/// status 2 if nothing has been submitted, and with an empty text and the status of the signal if the job goes on.
RunOutcome run_job(RealCommands& commands, const Following& following, RunObserver& observer);

}  // namespace hpo::slurm
