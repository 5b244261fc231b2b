#include "orchestrator/cluster/hosts_site.hpp"

#include <memory>
#include <utility>

#include "orchestrator/cluster/hosts_executor.hpp"
#include "orchestrator/cluster/hosts_machine.hpp"
#include "orchestrator/execution/limits.hpp"

namespace hpo::cluster {

Result<Study> for_several_hosts(Study study) {
    Resources& resources = study.resources;
    if (!resources.parallel_each.empty())
        return Error{
            "resources.parallel: a list has a number for each device of one machine; several hosts need one number"};
    if (resources.gpu_memory.size() > 1)
        return Error{
            "resources.gpu_memory: a list has a size for each device of one machine; several hosts need one size"};
    if (study.script() && !resources.trial.cores) resources.trial.cores = 1;
    return study;
}

OpenSite open_hosts(std::vector<Address> addresses, std::optional<ListenAt> listen) {
    return [addresses = std::move(addresses), listen](const SiteRequest& request) -> Result<SessionSite> {
        raise_soft_limits();
        std::unique_ptr<Listener> door;
        if (listen) {
            auto open = Listener::open(*listen);
            if (!open) return open.error();
            door = *std::move(open);
        }
        const auto hosts = std::make_shared<Hosts>(request, addresses, std::move(door));
        auto made = std::make_unique<HostsMachine>(hosts, request.study.resources);
        const HostsMachine* machine = made.get();
        SessionSite site;
        site.machine = std::move(made);
        site.workers = [machine] { return machine->workers(); };
        site.host_name = [machine](int host) { return machine->name_of(host); };
        site.launch = [machine](WorkerIndex, std::span<const int> devices) { return machine->spec(devices); };
        site.executor = [hosts,
                         tag = request.tag](ExecutionListener listener) -> Result<std::unique_ptr<SessionExecutor>> {
            auto folder = PrivateFolder::make(tag);
            if (!folder) return folder.error();
            if (const auto started = hosts->start_agents(std::move(listener)); !started) return started.error();
            return std::unique_ptr<SessionExecutor>(std::make_unique<HostsExecutor>(hosts, tag, *std::move(folder)));
        };
        return site;
    };
}

}  // namespace hpo::cluster
