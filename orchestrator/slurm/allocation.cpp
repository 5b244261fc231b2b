#include "orchestrator/slurm/allocation.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"
#include "orchestrator/slurm/steps.hpp"
#include "orchestrator/slurm/study_job.hpp"
#include "orchestrator/store/holder_lock.hpp"

namespace hpo::slurm {

namespace {

constexpr int requests = 3;      ///< to a controller that does not answer
constexpr int most_looks = 600;  ///< at a process that runs the study, a second apart

/// The session takes SIGTERM. Before it does, the flag alone is set (execution/interrupts.cpp).
void on_limit(int) {
    const int kept = errno;
    limit_is_near = true;
    struct sigaction now {};
    if (::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
        ::kill(::getpid(), SIGTERM);
    errno = kept;
}

/// The file of a job that got no trial further: how far trials ever got.
std::filesystem::path idle_mark(const StudyFolder& folder) { return folder.path / "slurm.idle"; }

std::optional<Progress> read_idle_mark(const StudyFolder& folder) {
    if (!check_regular(idle_mark(folder))) return std::nullopt;
    std::ifstream file(idle_mark(folder));
    Progress furthest;
    if (file >> furthest.ended >> furthest.steps) return furthest;
    return std::nullopt;
}

}  // namespace

std::optional<std::string> own_job() {
    const char* id = std::getenv("SLURM_JOB_ID");
    return id && *id ? std::optional<std::string>(id) : std::nullopt;
}

void heed_time_limit() {
    struct sigaction action {};
    action.sa_handler = on_limit;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGUSR1, &action, nullptr);
}

bool is_job_of(const StudyFolder& folder) {
    const char* name = std::getenv("SLURM_JOB_NAME");
    return name && name == job_name_of(folder);
}

bool awaits_others(const StudyFolder& folder) {
    const char* restarts = std::getenv("SLURM_RESTART_COUNT");
    return (restarts && std::atoi(restarts) > 0) || is_job_of(folder);
}

bool await_end_of_others(Commands& commands, const StudyFolder& folder) {
    for (int look = 0;; ++look) {
        const auto holder = holder_of(folder);
        if (!holder) return true;
        if (limit_is_near) return false;
        const std::string who = "process " + std::to_string(holder->pid) + " on " + printable(holder->host);
        if (look == most_looks)
            throw Fatal("study " + folder.name() + " is still being run by " + who + " after " +
                        std::to_string(most_looks / 60) + " minutes: end that process, and run again");
        if (look == 0)
            std::fprintf(stderr,
                         "warning: study %s is still being run by %s: waiting for its end, %d minutes at most\n",
                         folder.name().c_str(), who.c_str(), most_looks / 60);
        commands.pause(Seconds(1));
    }
}

std::string why_next_job(const RunOutcome& outcome, const StudyFolder& folder) {
    if (outcome.end == SessionEnd::at_limit) return limit_reason;
    const bool lost = outcome.end == SessionEnd::failed && outcome.no_host_left && !outcome.no_host_worked;
    return lost && is_job_of(folder) ? "all nodes of the job are lost" : "";
}

int queue_again(Commands& commands, const std::string& job, const StudyFolder& folder, const Progress& before,
                const RunOutcome& outcome, const std::string& why) {
    std::error_code ignored;
    // Trials without checkpoints start from the beginning in each job, so that a job may end with less progress than it
    // found.
    const auto mark = read_idle_mark(folder);
    const Progress furthest = mark ? std::max(before, *mark) : before;
    const CutShort cut{progress_of(outcome.record) > furthest, mark && before <= *mark};
    if (const std::string refused = refuses_next_job(cut); !refused.empty()) {
        std::filesystem::remove(idle_mark(folder), ignored);
        throw Fatal(refused);
    }
    if (cut.progressed)
        std::filesystem::remove(idle_mark(folder), ignored);
    else if (std::filesystem::create_directories(folder.path, ignored); !ignored)
        std::ofstream(idle_mark(folder)) << furthest.ended << ' ' << furthest.steps << '\n';
    // Slurm ends this process as soon as it has the request.
    std::fprintf(stderr, "%s: asking Slurm to queue job %s again\n", why.c_str(), printable(job).c_str());
    Answer answer;
    for (int request = 1; request <= requests; ++request) {
        if (request > 1) commands.pause(Seconds(2));
        answer = commands.run({"scontrol", "requeue", job});
        if (answer.status == 0) return 0;
        if (!answer.hung && !is_unclear(message_of(answer.error))) break;
    }
    std::fprintf(stderr, "hpo: Slurm does not queue it again (%s): hpo run goes on with the study\n",
                 answer.hung ? "scontrol did not end" : message_of(answer.error).c_str());
    return 0;
}

}  // namespace hpo::slurm
