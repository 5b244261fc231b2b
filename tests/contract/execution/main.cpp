// The test program also runs as its own supervisor, like `hpo`, and as an orchestrator that some tests kill.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/execution/supervisor.hpp"
#include "tests/contract/execution/child_orchestrator.hpp"
#include "tests/contract/execution/host_agent.hpp"
#include "tests/contract/execution/own_worker.hpp"
#include "tests/contract/execution/refused_calls.hpp"

int main(int argc, char** argv) {
    if (std::getenv(hpo::testing_execution::refused_variable)) hpo::testing_execution::refuse_all_but_posix();
    if (argc > 1 && std::strcmp(argv[1], hpo::supervisor_command) == 0)
        return hpo::run_supervisor(
            argc, argv, {hpo::testing_execution::own_worker_command, hpo::testing_execution::run_own_worker});
    if (argc > 1 && std::strcmp(argv[1], hpo::testing_execution::own_worker_command) == 0) {
        hpo::testing_execution::note_that_main_runs_own_worker();
        return hpo::testing_execution::run_own_worker(argc, argv);
    }
    if (argc > 1 && std::strcmp(argv[1], hpo::agent_command) == 0) return hpo::run_agent();
    if (argc > 3 && std::strcmp(argv[1], hpo::testing_execution::joining_agent_command) == 0)
        return hpo::testing_execution::run_joining_agent(argv[2], argv[3]);
    if (argc > 1 && std::strcmp(argv[1], hpo::testing_execution::child_orchestrator_command) == 0)
        return hpo::testing_execution::run_child_orchestrator(argc, argv);
    std::signal(SIGPIPE, SIG_IGN);  // as hpo does: a supervisor may be gone before it has read its orders
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
