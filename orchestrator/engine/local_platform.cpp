// This machine as a platform.
#include <utility>

#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/platforms.hpp"
#include "orchestrator/execution/local.hpp"
#include "orchestrator/execution/processes.hpp"

namespace hpo {

namespace {

Result<std::unique_ptr<SessionExecutor>> make_local_executor(boost::asio::io_context& loop, const ExecutorSetup& setup,
                                                             ExecutionListener listener) {
    auto executor = LocalExecutor::make(
        loop,
        {.tag = setup.tag, .program = setup.program, .limits = raise_soft_limits(), .alive_every = setup.alive_every},
        std::move(listener));
    if (!executor) return executor.error();
    return std::unique_ptr<SessionExecutor>(std::move(*executor));
}

Result<void> sweep_processes(const std::string& tag) {
    if (sweep(tag)) return {};
    return Error{"processes of an earlier run would not die; see ps for HPO_TAG=" + tag};
}

Result<void> check_devices(const Study& study, const Programs& programs) {
    if (const auto machine = LiveMachine::make(study, programs.hpo); !machine) return machine.error();
    return {};
}

Result<std::unique_ptr<SessionMachine>> open_live_machine(const Study& study, const Programs& programs,
                                                          const std::function<void(const DeviceNotice&)>& tell) {
    auto machine = open_machine(study, programs, tell);
    if (!machine) return machine.error();
    return std::unique_ptr<SessionMachine>(std::make_unique<LiveMachine>(std::move(*machine)));
}

}  // namespace

const Platform local_platform{"local", make_local_executor, sweep_processes, check_devices, open_live_machine};

}  // namespace hpo
