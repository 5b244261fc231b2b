#include "orchestrator/slurm/steps.hpp"

#include <algorithm>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"

namespace hpo::slurm {

namespace {

/// Returns the number of a job, by which the older of two is known.
unsigned long long number_of(const JobState& job) { return std::stoull(job.id); }  // at most 12 digits (words.cpp)

}  // namespace

Reply reply_of(const Answer& sbatch) {
    if (sbatch.status == 0) {
        const std::string id = id_of(sbatch.out);
        return id.empty() ? Reply{Reply::Kind::unclear, "sbatch gave no job id"} : Reply{Reply::Kind::accepted, id};
    }
    if (sbatch.missing) return {Reply::Kind::refused, "there is no sbatch"};
    if (sbatch.hung) return {Reply::Kind::unclear, "sbatch did not end"};
    const std::string message = message_of(sbatch.error);
    if (!sbatch.status) return {Reply::Kind::unclear, "sbatch was killed"};
    if (message.empty() || is_unclear(message))
        return {Reply::Kind::unclear, message.empty() ? "sbatch failed without a message" : message};
    return {Reply::Kind::refused, message};
}

std::string failure_of(const std::string& command, const Answer& answer) {
    if (answer.status == 0) return {};
    if (answer.missing)
        return "there is no " + command + " on PATH: run hpo on a login node, or load the site's module of Slurm";
    const std::string message = message_of(answer.error);
    if (answer.hung)
        return "Slurm does not answer (" + command + " did not end within " + trimmed_number(answer.limit.count()) +
               "s): try again later, or set HPO_SLURM_TIMEOUT to more";
    if (!answer.status) return "Slurm does not answer (" + command + " was killed): try again later";
    return "Slurm does not answer (" + command + ": " + (message.empty() ? "it failed" : message) +
           "): try again later";
}

Found find_job(const std::vector<JobState>& jobs, const std::vector<std::string>& known) {
    std::vector<JobState> ours;
    for (const JobState& job : jobs)
        if (phase_of(job) != Phase::over || std::find(known.begin(), known.end(), job.id) == known.end())
            ours.push_back(job);
    // A job that is ending, or has ended, does not run the study any more, whichever is the older.
    const auto rank = [](const JobState& job) {
        return phase_of(job) == Phase::over ? 2 : phase_of(job) == Phase::ending ? 1 : 0;
    };
    std::sort(ours.begin(), ours.end(), [&](const JobState& a, const JobState& b) {
        return rank(a) != rank(b) ? rank(a) < rank(b) : number_of(a) < number_of(b);
    });
    Found found;
    if (ours.empty()) return found;
    found.job = ours.front();
    for (std::size_t i = 1; i < ours.size(); ++i)
        if (phase_of(ours[i]) == Phase::queued) found.surplus.push_back(ours[i].id);
    return found;
}

Decision decide(const Seen& seen) {
    using Next = Decision::Next;
    if (!seen.job) {
        if (seen.finished) return {Next::conclude, {}};
        return {Next::fail, "is gone from Slurm's queue, and the study is not finished: run again to go on"};
    }
    if (phase_of(*seen.job) != Phase::over) return {};
    const std::string& state = seen.job->state;
    if (seen.finished || (state == "COMPLETED" && !seen.at_limit)) return {Next::conclude, {}};
    if (state == "CANCELLED" || state == "DEADLINE") return {Next::cancelled, {}};
    if (state == "OUT_OF_MEMORY")
        return {Next::fail, "was ended by Slurm for want of memory: raise resources.slurm.memory"};
    const std::string why = state == "COMPLETED" || state == "TIMEOUT" ? "reached its time limit"
                            : state == "NODE_FAIL"                     ? "lost a node"
                            : state == "BOOT_FAIL"                     ? "found no node that starts"
                            : state == "PREEMPTED"                     ? "was preempted"
                                                                       : "";
    if (why.empty()) return {Next::failed, {}};
    if (seen.progressed) return {Next::submit_again, why};
    return {Next::fail,
            why + ", and no trial got further: raise resources.slurm.time, or let trials write checkpoints"};
}

double ask_again_after(const std::optional<JobState>& job, bool answered, bool session_ended) {
    if (!answered) return 20;
    if (!job) return 2;
    switch (phase_of(*job)) {
        case Phase::queued:
            return 5;
        case Phase::running:
            return session_ended ? 1 : 20;
        case Phase::ending:
        case Phase::over:
            break;
    }
    return 1;
}

std::string refuses_next_job(const CutShort& job) {
    if (job.progressed || !job.idle_before) return {};
    return "Slurm ended two jobs in a row in which no trial got further: raise resources.slurm.time, or let trials "
           "write "
           "checkpoints";
}

}  // namespace hpo::slurm
