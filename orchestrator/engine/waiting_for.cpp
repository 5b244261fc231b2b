#include "orchestrator/engine/waiting_for.hpp"

#include <unistd.h>

#include <cstdio>

#include "hpo/printable.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/execution/own_threads.hpp"

namespace hpo {
namespace {

std::string span_text(Seconds since, Seconds now) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1f s", (now - since).count());
    return text;
}

std::string state_of(const Job& job, Seconds now) {
    const std::string trial = "trial " + std::to_string(job.id.trial);
    switch (job.phase) {
        case Job::Phase::reserved:
            return trial + " waits for the worker's start";
        case Job::Phase::running:
            return trial + " runs for " + span_text(job.begun, now) + ", last sign of life " +
                   span_text(job.heard, now) + " ago";
        case Job::Phase::ending:
            return trial + " was told to end " + span_text(job.heard, now) + " ago";
    }
    return trial;
}

std::string state_of(const Worker& worker, Seconds now) {
    switch (worker.state) {
        case Worker::State::starting:
            return "starts, for " + span_text(worker.start, now) + ", and has not said hello";
        case Worker::State::leaving:
            return "was asked to leave" + (worker.kill_reason.empty() ? "" : " (" + worker.kill_reason + ")") +
                   ", and its processes have not ended";
        default:
            break;
    }
    if (worker.planning != 0) return "computes the requirements of trial " + std::to_string(worker.planning);
    return worker.jobs.empty() ? "is idle" : "";
}

std::string line_of(WorkerIndex index, const Worker& worker, Seconds now) {
    std::string text = "worker " + std::to_string(index);
    if (worker.pid != 0) text += " (process " + std::to_string(worker.pid) + ")";
    std::string separator = ": ";
    if (const std::string state = state_of(worker, now); !state.empty()) {
        text += ' ' + state;
        separator = "; ";
    }
    for (const Job& job : worker.jobs) text += std::exchange(separator, "; ") + state_of(job, now);
    return text;
}

}  // namespace

std::vector<std::string> waiting_for(const WorkerPool& pool, const SessionState& state, Seconds now) {
    std::vector<std::string> lines;
    if (!state.ends.empty()) lines.push_back("the session ends: " + state.ends);
    for (std::size_t index = 0; index < pool.workers().size(); ++index)
        if (const Worker& worker = pool.workers()[index]; worker.state != Worker::State::empty)
            lines.push_back(line_of(static_cast<WorkerIndex>(index), worker, now));
    if (pool.empty()) lines.emplace_back("no worker lives");
    if (state.queued != 0 || state.paused != 0)
        lines.push_back(counted(static_cast<std::int64_t>(state.queued), "trial") + " queued, " +
                        std::to_string(state.paused) + " paused");
    if (state.proposing != 0)
        lines.push_back("the sampler computes the parameters of trial " + std::to_string(state.proposing));
    if (state.diagnoses != 0)
        lines.push_back("a diagnosis is pending: " + counted(static_cast<std::int64_t>(state.diagnoses), "worker") +
                        " died");
    if (!state.waits.empty()) lines.push_back(state.waits);
    return lines;
}

std::vector<std::string> waiting_for(const StoreState& state) {
    std::vector<std::string> lines;
    if (!state.failed.empty()) lines.push_back("the study's database cannot be written: " + state.failed);
    if (!state.lockers.empty()) lines.push_back("the study's database is locked by " + state.lockers);
    if (state.unwritten) lines.emplace_back("events wait to be written to the study's database");
    if (state.not_on_disk > 0)
        lines.push_back(counted(state.not_on_disk, "result is", "results are") + " on the way to the disk");
    if (state.announcements > 0)
        lines.push_back(counted(static_cast<std::int64_t>(state.announcements), "message waits", "messages wait") +
                        " until results are on the disk");
    if (lines.empty()) lines.emplace_back("the study's database is up to date");
    return lines;
}

std::string waiting_text(const std::string& study, const std::vector<std::string>& lines) {
    std::string text = "hpo: study " + study + ", process " + std::to_string(getpid()) + ", waits for:";
    for (const std::string& line : lines) text += "\n  " + printable(line);
    std::string threads;
    for (const std::string& thread : own_threads()) threads += (threads.empty() ? "threads: " : ", ") + thread;
    return threads.empty() ? text : text + "\n  " + printable(threads);
}

}  // namespace hpo
