// Parses the output of Slurm's commands, and words it for users. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo::slurm {

enum class Phase { queued, running, ending, over };

/// A job as squeue shows it.
struct JobState {
    std::string id;
    std::string state;   ///< RUNNING
    std::string start;   ///< 2026-11-28T00:22:41; empty: not known
    std::string end;     ///< likewise: the time limit of a job that runs
    std::string nodes;   ///< node[1-3]; empty: none yet
    std::string reason;  ///< Priority; empty: none
    bool operator==(const JobState&) const = default;
};

/// The format for squeue -o that jobs_of() reads.
inline constexpr const char* job_format = "%i|%T|%S|%e|%N|%r";

/// Returns the jobs in the output of squeue. Leaves out other lines, such as warnings.
std::vector<JobState> jobs_of(std::string_view text);

Phase phase_of(const JobState& job);

/// Returns a sentence about a job that has not ended: "job 12 waits in the queue: jobs with a higher priority come
/// first".
std::string state_text(const JobState& job);

/// A partition as sinfo shows it.
struct Partition {
    std::string name;
    std::optional<double> limit;  ///< seconds of a job; absent: none
    std::string nodes;            ///< their number
    std::string gres;             ///< of a node: gpu:a100:4; empty: none
    bool is_default = false;
};

/// The format for sinfo -o that partitions_of() reads.
inline constexpr const char* partition_format = "%P|%l|%D|%G";

/// Returns the partitions in the output of sinfo. A partition with several kinds of nodes has several rows.
std::vector<Partition> partitions_of(std::string_view text);

/// Returns the seconds of "1-02:03:04", "02:03:04" or "30:00"; nothing: infinite, or no time.
std::optional<double> time_limit_of(std::string_view text);

/// Returns the id in the reply of sbatch --parsable ("12" or "12;cluster"); empty: there is none.
std::string id_of(std::string_view reply);

/// Returns the message in the stderr output of a command of Slurm: its last line, without the command's name.
std::string message_of(std::string_view error);

/// Returns true if an error of sbatch leaves open whether Slurm has taken the job.
bool is_unclear(std::string_view message);

/// Returns true if an error of sbatch says that no controller could be reached, so that Slurm has no job.
bool is_unreachable(std::string_view message);

/// Returns the sentence about a job that Slurm has refused, with the key of the study file to change.
std::string refusal_text(std::string_view message, const SlurmJob& job, const std::vector<Partition>& partitions);

/// Returns why the partition's time limit does not let the job start; empty: it does, or is not known.
std::string above_time_limit(const SlurmJob& job, const std::vector<Partition>& partitions);

}  // namespace hpo::slurm
