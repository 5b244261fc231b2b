// How the workers of a study are started on this machine: how many at once, on which cores, with which environment and
// command.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/scheduling/plan.hpp"

namespace hpo {

struct WorkerPlan {
    int places = 1;                      ///< workers at once
    std::vector<std::vector<int>> cpus;  ///< a place's cores; empty: any
};

/// One worker a core, or `resources.parallel` of them; cores are shared out evenly while there are enough.
WorkerPlan plan_workers(const Study& study, const Host& host);

/// The native worker, or the study's own command, for one place.
LaunchSpec worker_launch(const Study& study, const std::filesystem::path& native, const WorkerPlan& plan, Place place);

/// What the machine has at this moment, within `resources.memory`. `workers`: processes whose memory is booked, not
/// others'.
Machine live_machine(const Study& study, const Host& host, std::span<const std::int64_t> workers);

}  // namespace hpo
