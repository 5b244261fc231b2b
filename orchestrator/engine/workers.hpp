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

/// One worker a core (or what a script's trials are declared to take), or `resources.parallel` of them; cores are
/// shared out evenly while there are enough.
WorkerPlan plan_workers(const Study& study, const Host& host);

/// The native worker, or the study's own command, for one place. `device`: UUID of the accelerator that it shall see,
/// alone; empty: none of them where `hide_devices`, else whatever is there.
LaunchSpec worker_launch(const Study& study, const std::filesystem::path& native, const WorkerPlan& plan, Place place,
                         const std::string& device = {}, bool hide_devices = false);

}  // namespace hpo
