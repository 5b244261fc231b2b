#include "orchestrator/slurm/study_job.hpp"

#include <filesystem>
#include <system_error>

#include "hpo/result.hpp"
#include "orchestrator/slurm/job.hpp"
#include "orchestrator/slurm/steps.hpp"
#include "orchestrator/slurm/submit.hpp"

namespace hpo::slurm {

namespace fs = std::filesystem;

std::string job_name_of(const StudyFolder& folder) {
    std::error_code failed;
    const fs::path path = fs::absolute(folder.path).lexically_normal();
    const fs::path real = fs::weakly_canonical(path, failed);
    return job_name(folder.name(), failed ? path : real);
}

std::string cancelling(const StudyFolder& folder) { return "scancel --name=" + job_name_of(folder); }

std::string within_job(const StudyFolder& folder, const std::string& command) {
    return "srun --jobid=$(squeue -h -o %A --name=" + job_name_of(folder) + ") --overlap -N1 -n1 " + command;
}

bool had_job(const StudyFolder& folder) {
    std::error_code ignored;
    return fs::exists(folder.job_script(), ignored);
}

void refuse_change_under_job(Commands& commands, const StudyFolder& folder) {
    if (!had_job(folder)) return;
    const auto jobs = jobs_named(commands, job_name_of(folder));
    if (!jobs && jobs.error().message.starts_with("there is no squeue")) return;
    if (!jobs)
        throw Fatal("whether a job waits to run study " + folder.name() + " is not known: " + jobs.error().message);
    const Found found = find_job(*jobs, ids_of(*jobs));
    if (found.job)
        throw Fatal("study " + folder.name() + " has a job in Slurm's queue, " + found.job->id + ": cancel it first (" +
                    cancelling(folder) + ')');
}

}  // namespace hpo::slurm
