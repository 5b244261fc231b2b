#include "orchestrator/cli/run_place.hpp"

#include <cstdlib>
#include <string>
#include <utility>

#include "orchestrator/cli/run_slurm.hpp"
#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/cluster/hosts_site.hpp"

namespace hpo {

namespace {

/// Returns where the study listens for agents that join it; nothing: it does not. Throws Fatal for other values of
/// --listen.
std::optional<cluster::ListenAt> listen_of(const RunArguments& arguments) {
    if (!arguments.listens && arguments.on != "join") return std::nullopt;
    if (runs_in_a_job(arguments))
        throw Fatal("--listen opens a port where the study runs: give it to hpo run within the job of --on slurm", 2);
    auto at = cluster::parse_listen(arguments.listen);
    if (!at) throw Fatal(at.error().message, 2);
    return *at;
}

/// Returns the hosts of --on, those of the study, or of the allocation in which this process runs. Empty: this machine,
/// or none but those that join. A study that listens has this machine as one of several. Throws Fatal if they cannot be
/// read.
std::vector<cluster::Address> hosts_of(const RunArguments& arguments, const Study& study, const Programs& programs) {
    const auto environment = [](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
    std::string on = arguments.on;
    for (const std::string& host : arguments.on.empty() ? study.resources.hosts : std::vector<std::string>())
        on += (on.empty() ? "ssh:" : ",") + host;
    if (on.empty() && cluster::in_allocation_of_several(environment)) on = "slurm";
    if (on == "join") return {};
    if (on.empty() || on == "local")
        return arguments.listens ? std::vector<cluster::Address>{{"local", {programs.hpo.string(), agent_command}}}
                                 : std::vector<cluster::Address>();
    auto hosts = cluster::addresses_of(on, programs.hpo, environment);
    if (!hosts) throw Fatal(hosts.error().message, 2);
    return *std::move(hosts);
}

}  // namespace

RunPlace place_of(const RunArguments& arguments, const Study& study, const Programs& programs) {
    RunPlace place{.in_a_job = runs_in_a_job(arguments)};
    if (!place.in_a_job) place.hosts = hosts_of(arguments, study, programs);
    place.listen = listen_of(arguments);
    return place;
}

Study adapted_to(const RunPlace& place, Study study) {
    if (place.here() || (place.in_a_job && study.resources.slurm.nodes <= 1)) return study;
    auto several = cluster::for_several_hosts(std::move(study));
    if (!several) throw Fatal(several.error().message, 2);
    return *std::move(several);
}

Result<RunOutcome> run_there(const RunPlace& place, const RunArguments& arguments, const Study& study,
                             const StudyFolder& folder, const Programs& programs, RunObserver& observer,
                             const Acceptance& accepted) {
    if (place.in_a_job) return run_on_slurm(arguments, study, folder, programs, observer, accepted);
    return run_study(study, folder, programs, observer, accepted,
                     place.here() ? OpenSite(open_local_site) : cluster::open_hosts(place.hosts, place.listen));
}

}  // namespace hpo
