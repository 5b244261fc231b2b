// How the workers of a study are started on this machine: how many at once, on which cores, with which environment and
// command.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// The programs of an installation, by absolute path.
struct Programs {
    std::filesystem::path hpo;
    std::filesystem::path worker;
    std::filesystem::path python;  ///< folder of the Python client
};

/// The running program, and what is installed with it.
Programs installed_programs();

struct WorkerPlan {
    int workers = 1;                     ///< workers at once
    int start = 1;                       ///< workers to begin with, where their number is searched by throughput
    std::vector<std::vector<int>> cpus;  ///< a worker's cores; empty: any
    double cores = 0;                    ///< of the quota, each worker's part; 0: as many as `cpus`
};

/// One worker per core (or per declared cores of a script's trial), or `resources.parallel` of them, as far as the
/// control group's limits on CPU time and on processes allow. Cores are divided evenly while there are enough. If the
/// cores do not limit the number of trials at once (cores_are_searched()), there may be more workers, and none is
/// pinned: what their number will be is not known when they start.
WorkerPlan plan_workers(const Study& study, const Host& host);

/// Returns why the cores keep a script's trials from running `resources.parallel` at once, with the cure. Empty if they
/// do not.
std::string fewer_than_asked(const Study& study, const Host& host);

/// The cores that native workers may compute on, each with a thread for each: those to which they are bound, but no
/// more than the control group's quota of CPU time. Empty if no worker is bound.
std::vector<std::vector<int>> cores_of_workers(const Study& study, const WorkerPlan& plan);

/// What a worker is to compute on.
struct Target {
    std::string backend = "cpu";         ///< cpu, cuda or opencl
    std::string cuda;                    ///< UUIDs of the only GPUs that it shall see, with commas between them
    std::optional<std::int64_t> opencl;  ///< number of OpenCL's device
};

/// The native worker, or the study's own command, for one worker. Python scripts find the client. Without a GPU a
/// script sees none with `backend: cpu`, else whatever there is.
LaunchSpec worker_launch(const Study& study, const Programs& programs, const WorkerPlan& plan, WorkerIndex index,
                         const Target& target);

/// Whether messages to workers can contain `path`: they are JSON, so it must be UTF-8, the folders around it
/// included. Else an Error with the cure.
Result<void> check_utf8(const std::filesystem::path& path);

}  // namespace hpo
