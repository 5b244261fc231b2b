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

/// Whether the tests run on such an executor: HPO_TEST_EXECUTOR is "hosts", or "joined" for an agent that joins by TLS.
bool tests_hosts();

/// The command of the test program that joins: its argument is the join file.
inline constexpr const char* joining_agent_command = "__joining_agent";

OnAHost make_on_a_host(boost::asio::io_context& loop, const std::string& tag, ExecutionListener listener);

}  // namespace hpo::testing_execution
