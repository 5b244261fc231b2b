#include "orchestrator/engine/workers.hpp"

#include <algorithm>
#include <cmath>

#include "orchestrator/execution/environment.hpp"

namespace hpo {

namespace {

/// Left free for the system and what else the user does: a tenth, at most 2 GiB.
std::int64_t reserve_of(std::int64_t memory) { return std::min<std::int64_t>(memory / 10, std::int64_t{2} << 30); }

}  // namespace

WorkerPlan plan_workers(const Study& study, const Host& host) {
    WorkerPlan plan;
    const auto cores = static_cast<std::int64_t>(host.cores);
    plan.places = static_cast<int>(std::max<std::int64_t>(1, study.resources.parallel.value_or(cores)));
    const auto cpus = host.cpus.size();
    const auto places = static_cast<std::size_t>(plan.places);
    if (places > cpus) return plan;
    for (std::size_t place = 0; place < places; ++place)
        plan.cpus.emplace_back(host.cpus.begin() + static_cast<std::ptrdiff_t>(place * cpus / places),
                               host.cpus.begin() + static_cast<std::ptrdiff_t>((place + 1) * cpus / places));
    return plan;
}

LaunchSpec worker_launch(const Study& study, const std::filesystem::path& native, const WorkerPlan& plan, Place place) {
    LaunchSpec spec;
    spec.command = study.command.empty() ? std::vector<std::string>{native.string()} : study.command;
    // The native worker computes with one thread; a script may use what its place has.
    const auto own = static_cast<std::size_t>(place) < plan.cpus.size() ? plan.cpus[static_cast<std::size_t>(place)]
                                                                        : std::vector<int>{};
    spec.cpus = own;
    spec.environment =
        worker_environment(study.command.empty() ? 1.0 : std::max<double>(1, static_cast<double>(own.size())));
    return spec;
}

Machine live_machine(const Study& study, const Host& host, std::span<const std::int64_t> workers) {
    std::int64_t ours = 0;
    for (const std::int64_t pid : workers) ours += resident_memory(pid);
    const std::int64_t others = std::max<std::int64_t>(0, host.memory - available_memory() - ours);
    if (!study.resources.memory) return {host.cores, host.memory, reserve_of(host.memory), others};
    // The study's own limit: others are in its way only as far as they leave less than that.
    const std::int64_t limit = std::min(*study.resources.memory, host.memory);
    return {host.cores, limit, 0, std::max<std::int64_t>(0, others - (host.memory - limit))};
}

}  // namespace hpo
