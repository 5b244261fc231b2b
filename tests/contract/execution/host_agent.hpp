// An executor on a host with an agent, whose program is that of the test.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "orchestrator/engine/session_machine.hpp"
#include "orchestrator/execution/session_executor.hpp"

namespace hpo::testing_execution {

struct OnAHost {
    std::unique_ptr<SessionMachine> machine;  ///< its poll() must be called while the loop runs
    std::unique_ptr<SessionExecutor> executor;
};

/// Returns true if the tests run on an executor of hosts: HPO_TEST_EXECUTOR is "hosts", or "joined" for an agent that
/// joins by TLS.
bool tests_hosts();

/// The command of the test program that joins: its arguments are the join file and the pid of the test, which the agent
/// does not survive by more than a minute.
inline constexpr const char* joining_agent_command = "__joining_agent";
int run_joining_agent(const char* join_file, const char* test);

OnAHost make_on_a_host(boost::asio::io_context& loop, const std::string& tag, ExecutionListener listener);

}  // namespace hpo::testing_execution
