#include "orchestrator/engine/core_sharing.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/engine/text.hpp"
#include "orchestrator/scheduling/core_shares.hpp"

namespace hpo {

void CoreSharing::tell(WorkerIndex index, const std::vector<int>& cores) {
    const bool borrows = cores.size() > context_.parts.cores[static_cast<std::size_t>(index)].size();
    pool_.use_cores(index, cores, borrows);
    if (!borrows || std::exchange(told_of_first_, true) || !starts_.first_trial_leads()) return;
    context_.say(Notice::Level::info, 1, "trains on " + std::to_string(cores.size()) + " cores before others begin");
}

void CoreSharing::update() {
    // A sampler proposes within this time, so that a worker that waits longer has no next trial on the way.
    constexpr Seconds long_enough{1};
    const auto& own = context_.parts.cores;
    if (own.empty() || context_.parts.on_device) return;  // workers on devices need the free cores
    const auto& workers = pool_.workers();
    const std::size_t count = std::min(own.size(), workers.size());
    free_since_.resize(count);
    std::vector<CoreUser> users(count);
    const bool all_have_begun = pool_.with_trials() >= starts_.at_once();
    for (std::size_t i = 0; i < count; ++i) {
        const Worker& worker = workers[i];
        const bool free = worker.idle() || worker.state == Worker::State::empty;
        if (!free)
            free_since_[i].reset();
        else if (!free_since_[i])
            free_since_[i] = context_.now();
        users[i] = {.own = own[i],
                    .lends = free && (all_have_begun || context_.now() - *free_since_[i] >= long_enough),
                    .borrows = worker.threads && is_host(worker.device) && !worker.jobs.empty()};
    }
    const auto shares = share_cores(users);
    // Workers that return cores come first.
    for (const bool more : {false, true})
        for (std::size_t i = 0; i < count; ++i) {
            const Worker& worker = workers[i];
            if (!users[i].borrows) continue;
            const std::size_t before = std::max<std::size_t>(1, worker.cores.size());
            if (shares[i].size() == before && (before == 1 || shares[i] == worker.cores)) continue;
            if ((shares[i].size() > before) == more) tell(static_cast<WorkerIndex>(i), shares[i]);
        }
}

}  // namespace hpo
