// The job of a study in Slurm's queue, which is found by the study's folder.
#pragma once

#include <string>

#include "orchestrator/slurm/commands.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo::slurm {

/// Returns the name of the study's jobs, the same by whichever path its folder is reached.
std::string job_name_of(const StudyFolder& folder);

/// Returns the command that cancels all of the study's jobs: "scancel --name=hpo-phase1-89abcdef".
std::string cancelling(const StudyFolder& folder);

/// Returns the command that runs another one on the first node of the study's job, where the study is run.
std::string within_job(const StudyFolder& folder, const std::string& command);

/// Returns true if a job was submitted for the study, now or earlier.
bool had_job(const StudyFolder& folder);

/// Throws Fatal, with the command that cancels it, if the queue has a job of the study, or if Slurm does not answer.
/// Asks Slurm only for a study for which a job was submitted, and not where its commands are missing.
void refuse_change_under_job(Commands& commands, const StudyFolder& folder);

}  // namespace hpo::slurm
