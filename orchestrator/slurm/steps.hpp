// Decides the next step for a job, from the observed states of the job and of its study. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/slurm/commands.hpp"
#include "orchestrator/slurm/words.hpp"

namespace hpo::slurm {

/// The answer of sbatch.
struct Reply {
    enum class Kind { accepted, refused, unclear };
    Kind kind = Kind::unclear;
    std::string text;  ///< the job's id, or Slurm's message
};
Reply reply_of(const Answer& sbatch);

/// Returns why a command gave no answer, with the cure; empty: it gave one.
std::string failure_of(const std::string& command, const Answer& answer);

/// The study's job to follow, and surplus jobs that were submitted twice after a lost reply.
struct Found {
    std::optional<JobState> job;
    std::vector<std::string> surplus;  ///< ids
};
/// Finds the job among `jobs`, all of the study's name. An ended job counts if its id is not among `known`: it was
/// submitted since.
Found find_job(const std::vector<JobState>& jobs, const std::vector<std::string>& known);

/// The observations of a follower.
struct Seen {
    std::optional<JobState> job;  ///< absent: Slurm no longer knows it
    bool finished = false;        ///< no trial is left to run
    bool at_limit = false;        ///< its last session ended since the job's time limit was near
    bool progressed = false;      ///< trials have got further since the job was submitted
};

struct Decision {
    enum class Next {
        wait,
        submit_again,
        conclude,
        cancelled,
        fail,
        failed  ///< as hpo or its script did, so that the job's log tells why
    };
    Next next = Next::wait;
    std::string why;  ///< of submit_again and fail: a clause that follows the job's name
};
Decision decide(const Seen& seen);

/// Returns the seconds until squeue is asked again. Slurm's controller serves everyone, so that it is asked seldom.
/// `session_ended`: the job has run the study, and does so no more, so that it ends soon.
double ask_again_after(const std::optional<JobState>& job, bool answered, bool session_ended);

/// A job that Slurm ends before its study is finished.
struct CutShort {
    bool progressed = false;   ///< trials got further in it
    bool idle_before = false;  ///< none did in the job before
};
/// Returns why the study is not queued again; empty: it is.
std::string refuses_next_job(const CutShort& job);

}  // namespace hpo::slurm
