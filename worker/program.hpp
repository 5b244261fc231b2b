#pragma once

namespace hpo {

/// Runs the whole of `hpo-worker` and returns its exit status. 0: told to shut down, or the orchestrator closed the
/// connection.
int worker_main(int argc, char** argv);

}  // namespace hpo
