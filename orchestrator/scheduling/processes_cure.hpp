// The cure for a trial of several processes that fits no host. Pure.
#pragma once

#include <string>

#include "hpo/study.hpp"

namespace hpo {

/// Returns a text that follows the reason why a trial never fits: its processes are on one host, also where there are
/// several. Empty for trials of one process.
inline std::string cure_for_processes(const Study& study) {
    const std::int64_t processes = study.resources.trial.processes;
    if (processes <= 1) return {};
    return "; the " + std::to_string(processes) +
           " processes of a trial run on one host: set resources.trial.processes or cores (of each) lower" +
           (study.script() ? ", or let worker.command start them on several hosts, by srun or mpirun (docs/cluster.md)"
                           : "");
}

}  // namespace hpo
