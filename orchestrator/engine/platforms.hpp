// Where a study's workers run: how its executor is made and its machine is read. A new place (a cluster, say) is an
// executor in a folder of execution/, a SessionMachine, and a row in platforms.cpp; nothing else names either.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/engine/session_machine.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/execution/session_executor.hpp"

namespace boost::asio {
class io_context;
}

namespace hpo {

struct Platform {
    std::string_view name;
    /// Nothing is started before the first launch. `loop` and what `listener` refers to outlive the executor.
    Result<std::unique_ptr<SessionExecutor>> (*make_executor)(boost::asio::io_context& loop, const ExecutorSetup& setup,
                                                              ExecutionListener listener);
    /// Ends the workers that an earlier session with this tag has left behind, for one that holds the study. An Error
    /// where some would not end, with the way to find them.
    Result<void> (*sweep)(const std::string& tag);
    /// Whether the devices that a study asks for are there. Changes nothing.
    Result<void> (*check_devices)(const Study& study, const Programs& programs);
    /// The first reading; `tell` is called with what takes long, and with what a study is not given. `study` outlives
    /// it.
    Result<std::unique_ptr<SessionMachine>> (*open_machine)(const Study& study, const Programs& programs,
                                                            const std::function<void(const DeviceNotice&)>& tell);
};

/// This machine: processes, each below its supervisor.
extern const Platform local_platform;

/// Where a study runs. There is no other place yet than this machine.
const Platform& platform_of(const Study& study);

}  // namespace hpo
