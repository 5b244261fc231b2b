// The place where a session runs its trials: the machine, an executor on it, and the launch of workers there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/session_machine.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/execution/session_executor.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace boost::asio {
class io_context;
}

namespace hpo {

struct SessionSite {
    std::unique_ptr<SessionMachine> machine;
    std::function<int()> workers;  ///< at once; asked when the session begins and every second, as hosts may join
    /// Called once, and before any launch. The machine outlives the executor.
    std::function<Result<std::unique_ptr<SessionExecutor>>(ExecutionListener)> executor;
    /// Returns the launch of a worker for accelerators of the machine, or for the cores of a host.
    std::function<LaunchSpec(WorkerIndex, std::span<const int> devices)> launch;
    std::vector<std::vector<int>> cores;         ///< as EngineParts::cores
    std::optional<ConcurrencyPlan> concurrency;  ///< as EngineParts::concurrency
    std::function<std::string(int)> host_name;   ///< as EngineParts::host_name
    std::string fewer_than_asked;                ///< why `resources.parallel` trials do not run at once; else empty
};

/// Facts of the session for a site. All references outlive the site.
struct SiteRequest {
    boost::asio::io_context& loop;
    const Study& study;
    const StudyFolder& folder;
    const Programs& programs;
    std::string tag;  ///< of the study's processes, by which they are found even after a crash
    std::function<void(const DeviceNotice&)> tell;
};
using OpenSite = std::function<Result<SessionSite>(const SiteRequest&)>;

/// Opens this machine.
Result<SessionSite> open_local_site(const SiteRequest& request);

}  // namespace hpo
