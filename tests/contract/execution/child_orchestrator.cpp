#include "tests/contract/execution/child_orchestrator.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "tests/contract/execution/harness.hpp"

namespace hpo::testing_execution {

int run_child_orchestrator(int, char** argv) {
    LocalOptions options;
    options.tag = argv[2];
    const int workers = std::atoi(argv[3]);
    const std::string start = argv[4];
    const std::string script = argv[5];
    ExecutorHarness harness(options);
    std::set<WorkerIndex> ready;
    std::int64_t trial = 0;
    harness.listener = [&](WorkerIndex index, const execution::Event& event) {
        if (std::holds_alternative<execution::Ready>(event)) {
            if (ready.insert(index).second && ready.size() == static_cast<std::size_t>(workers)) {
                std::puts("ready");
                std::fflush(stdout);
            }
            harness.run_trial(index, script, 3, {++trial, 1});
        } else if (const auto* received = std::get_if<execution::Received>(&event)) {
            if (const auto* report = std::get_if<from_worker::Reported>(&received->message))
                harness.go_on(index, *report);
            if (std::holds_alternative<from_worker::Finished>(received->message))
                harness.run_trial(index, script, 3, {++trial, 1});
        } else if (std::holds_alternative<execution::Exited>(event)) {
            harness.launch(index, start);
        }
        harness.log.clear();
    };
    for (WorkerIndex index = 0; index < workers; ++index) harness.launch(index, start);
    harness.loop.run();
    return 0;
}

}  // namespace hpo::testing_execution
