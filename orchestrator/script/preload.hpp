// Starts scripts as forks of an interpreter that has already imported their modules (worker/python/hpo/preload.py). A
// supervisor keeps that interpreter running (execution/preloader.hpp).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/study.hpp"
#include "orchestrator/execution/child.hpp"

namespace hpo::script {

/// Returns the command of the interpreter from which the study's trials are forked. Returns an empty command if the
/// study has no `worker.preload`. `python` is the folder of the Python client.
std::vector<std::string> preload_command(const ScriptWorker& script, const std::filesystem::path& python);

/// A process that waits to become the script. It is a child of this process, forked before this process became the
/// adapter.
struct Prepared {
    pid_t pid = 0;
    Descriptor order;   ///< the pipe over which it receives the command
    Descriptor output;  ///< its stdout and stderr
};

/// Returns the process that the preloaded interpreter has prepared for this adapter, or nothing if there is none. Only
/// the first call returns it.
std::optional<Prepared> take_prepared();

/// Starts the script in the prepared process, like supervisor::start_child().
supervisor::Child start_prepared(Prepared prepared, supervisor::Start order);

}  // namespace hpo::script
