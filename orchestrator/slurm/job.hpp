// The job that runs a study on Slurm: its name, the options of sbatch and the script. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo::slurm {

struct Job {
    std::string name;                ///< job_name() of the study's folder
    std::vector<std::string> words;  ///< options of sbatch, each a word of its command line
    std::string script;              ///< with these options as comments for sbatch
};

/// Paths are absolute.
struct JobRequest {
    std::string study;             ///< its name
    std::filesystem::path runs;    ///< the folder of studies
    std::filesystem::path folder;  ///< of the study
    std::filesystem::path here;    ///< the folder in which the job runs
    std::string command;           ///< the line of a shell that searches: "/opt/hpo run study.yaml --on local"
    double grace = 5;              ///< seconds that trials have to end
};

/// Returns "hpo-NAME-89abcdef", by which a job of the study in this folder is found in the queue.
std::string job_name(const std::string& study, const std::filesystem::path& folder);

/// Returns the seconds before the time limit at which Slurm asks the job to end: less for a short job.
int seconds_before_limit(const SlurmJob& job, double grace);

/// Returns the job. Its script can be submitted by hand, too.
Job make_job(const SlurmJob& job, const JobRequest& request);

/// Returns the file of the study's folder that has the job's output, or the job's script.
std::filesystem::path job_log(const std::filesystem::path& folder);
std::filesystem::path job_script(const std::filesystem::path& folder);

}  // namespace hpo::slurm
