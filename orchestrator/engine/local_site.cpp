#include <algorithm>
#include <utility>

#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/session_concurrency.hpp"
#include "orchestrator/engine/site.hpp"
#include "orchestrator/execution/local.hpp"

namespace hpo {

Result<SessionSite> open_local_site(const SiteRequest& request) {
    const Study& study = request.study;
    auto opened = open_machine(study, request.programs, request.tell);
    if (!opened) return opened.error();
    SessionSite site;
    auto live = std::make_unique<LiveMachine>(*std::move(opened));
    const SessionMachine* machine = live.get();
    site.machine = std::move(live);
    const WorkerPlan plan = plan_workers(study, machine->host());
    // Trials on the host leave those on devices a worker, and the other way round; the cores limit both.
    const std::size_t gpus = machine->host_too() ? machine->read({}, {}, {}).accelerators.size() : 0;
    site.workers = [workers = plan.workers + static_cast<int>(gpus)] { return workers; };
    site.cores = cores_of_workers(study, plan);
    site.concurrency = concurrency_plan(study, plan, *machine);
    site.fewer_than_asked = fewer_than_asked(study, machine->host());
    site.launch = [&study, &programs = request.programs, plan, machine](WorkerIndex index,
                                                                        std::span<const int> devices) {
        return worker_launch(study, programs, plan, index, machine->target(devices));
    };
    site.executor = [request](ExecutionListener listener) -> Result<std::unique_ptr<SessionExecutor>> {
        LocalOptions options{.tag = request.tag, .program = request.programs.hpo, .limits = raise_soft_limits()};
        // The timeout must exceed the interval of a living worker's messages.
        options.alive_every = std::min(options.alive_every, request.study.resources.progress_timeout / 3);
        auto executor = LocalExecutor::make(request.loop, options, std::move(listener));
        if (!executor) return executor.error();
        return std::unique_ptr<SessionExecutor>(*std::move(executor));
    };
    return site;
}

}  // namespace hpo
