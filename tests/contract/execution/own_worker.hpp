// A worker that is a command of the test program, as the adapter of scripts is one of hpo.
#pragma once

namespace hpo::testing_execution {

inline constexpr const char* own_worker_command = "__own_worker";

/// Prints "argument" and its argument. With `state`, prints what a program finds at its start, a line each, and
/// returns 7. With `wait`, waits until it is killed.
int run_own_worker(int argc, char** argv);

/// Tells run_own_worker() that main() has called it, not a supervisor.
void note_that_main_runs_own_worker();

}  // namespace hpo::testing_execution
