// The job that runs a study on Slurm: its name, the options of sbatch and the script. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo::slurm {

struct Job {
    std::string name;                ///< job_name() of the study's folder
    std::vector<std::string> words;  ///< options of sbatch, each a word of its command line
    std::string script;              ///< with these options as comments for sbatch
};

/// Paths are absolute.
struct JobRequest {
    std::string name;              ///< job_name() of the study's folder
    std::filesystem::path runs;    ///< the folder of studies
    std::filesystem::path folder;  ///< of the study
    std::filesystem::path here;    ///< the folder in which the job runs
    std::string program;           ///< hpo, as a word of a shell
    std::string file;              ///< the study file, as a word of a shell
    std::string options;           ///< further words of the command line: "--trials 8 --on local"
    std::string same_file;         ///< one spelling of the study file for all; empty: it is given by the study's name
    double grace = 5;              ///< seconds that trials have to end
};

/// Returns "hpo-NAME-89abcdef", by which a job of the study in this folder is found in the queue. `folder` is an
/// absolute path without links.
std::string job_name(const std::string& study, const std::filesystem::path& folder);

/// Returns the seconds before the time limit at which Slurm asks the job to end: less for a short job.
int seconds_before_limit(const SlurmJob& job, double grace);

/// Returns the job. Its script can be submitted by hand, too. Fails, with the cure, if a path or an option cannot be
/// given to Slurm.
Result<Job> make_job(const SlurmJob& job, const JobRequest& request);

/// Returns true if these scripts of one study's jobs have other options, another resources.slurm or another study file.
/// The spelling of paths does not count, nor where the later one names the study rather than its file.
bool asks_for_others(const std::string& later, const std::string& earlier);

/// Returns the file of the study's folder that has the job's output.
std::filesystem::path job_log(const std::filesystem::path& folder);

}  // namespace hpo::slurm
