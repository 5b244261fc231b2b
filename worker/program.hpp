#pragma once

namespace hpo {

/// All of `hpo-worker`; returns its exit status. 0: told to shut down, or the orchestrator closed the connection.
int worker_main(int argc, char** argv);

}  // namespace hpo
