// Describes why a session waits, in answer to SIGQUIT.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

/// The session's state beside its workers.
struct SessionState {
    std::string ends;            ///< why the session ends; empty: it does not
    std::size_t queued = 0;      ///< trials
    std::size_t paused = 0;      ///< trials
    std::int64_t proposing = 0;  ///< trial that the sampler computes on its thread; 0: none
    std::size_t diagnoses = 0;   ///< dead workers whose cause is still to be found
    std::string waits;           ///< the trial that waits for memory of other programs; empty: none
};

/// Returns a line for each living worker, with its trials, and for each thing that the session waits for.
std::vector<std::string> waiting_for(const WorkerPool& pool, const SessionState& state, Seconds now);

struct StoreState {
    bool unwritten = false;         ///< events wait in memory for the next transaction
    std::int64_t not_on_disk = 0;   ///< number of results that are not yet on the disk
    std::string failed;             ///< why nothing is stored any more; empty: the store works
    std::string lockers;            ///< other processes whose locks keep the writer waiting
    std::size_t announcements = 0;  ///< lines for the user, and checkpoints to be removed, that wait for the disk
};

/// Returns a line for each thing that waits; "the study's database is up to date" if nothing does.
std::vector<std::string> waiting_for(const StoreState& state);

/// Returns the whole answer: a heading with the study, its process, a line for each thing and one for the threads.
std::string waiting_text(const std::string& study, const std::vector<std::string>& lines);

}  // namespace hpo
