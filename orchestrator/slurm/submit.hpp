// Puts a study's job into Slurm's queue, once.
#pragma once

#include <functional>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/slurm/commands.hpp"
#include "orchestrator/slurm/job.hpp"
#include "orchestrator/slurm/steps.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo::slurm {

/// Tells the user something meanwhile.
using Say = std::function<void(const std::string&)>;

/// Returns all jobs of this name that Slurm knows. Fails, with the cure, if it does not answer.
Result<std::vector<JobState>> jobs_named(Commands& commands, const std::string& name);

/// Returns the ids of jobs.
std::vector<std::string> ids_of(const std::vector<JobState>& jobs);

/// Slurm's assessment of a job that is not submitted.
struct Forecast {
    std::string never;  ///< why no job of this kind starts, with the key to change; empty: it could
    std::string
        start;  ///< "Job 12 to start at 2026-11-28T00:22:41 using 2 processors on nodes node1 in partition main"
};

/// Asks by sbatch --test-only, and compares the time with the partition's limit. Fails if Slurm does not answer.
Result<Forecast> forecast(Commands& commands, const SlurmJob& wanted, const Job& job);

/// Submits the script, and returns the job's id. `known` are the ids of earlier jobs of this name. A reply that is lost
/// is looked for by the name, and the job is submitted again only when Slurm has no new one; a second one would wait
/// for the end of the first, since their names are the same (--dependency=singleton), and is cancelled. Fails, with the
/// cure, if Slurm refuses the job or does not answer.
Result<std::string> submit(Commands& commands, const SlurmJob& wanted, const Job& job,
                           const std::filesystem::path& script, const std::vector<std::string>& known, const Say& say);

/// A study's job in the queue.
struct Placed {
    std::string id;
    bool found = false;  ///< the job was in the queue before
    bool other = false;  ///< `found`, and the job was submitted with other options than `job` has
};

/// Returns the study's job, which it submits if the queue has none. If several processes do this at once, one of them
/// submits it. Writes the script to the study's folder, which it makes. Throws Fatal with exit status 2 and the cure if
/// no job is there afterwards; then a folder that it has made is gone, too.
Placed find_or_submit(Commands& commands, const SlurmJob& wanted, const Job& job, const StudyFolder& folder,
                      const Say& say);

}  // namespace hpo::slurm
