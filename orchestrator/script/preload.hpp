// Scripts that are forked from an interpreter that has imported already what they need: worker/python/hpo/preload.py,
// which a supervisor keeps (execution/preloader.hpp).
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

/// What starts the interpreter that the study's trials are forked from; empty without `worker.preload`. `python`: the
/// folder of the Python client.
std::vector<std::string> preload_command(const Study& study, const std::filesystem::path& python);

/// A process that waits to become the script: a child of this one, from before this one was the adapter.
struct Prepared {
    pid_t pid = 0;
    Descriptor tells;   ///< what it is to run
    Descriptor output;  ///< its stdout and stderr
};

/// What the preloaded interpreter left to its adapter, if there is one; once.
std::optional<Prepared> take_prepared();

/// As supervisor::start_child().
supervisor::Child start_prepared(Prepared prepared, supervisor::Start order);

}  // namespace hpo::script
