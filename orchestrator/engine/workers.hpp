// The launch of a study's workers on this machine: their number, cores, environment and command.
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

/// Returns the paths of the running program and of those installed with it.
Programs installed_programs();

struct WorkerPlan {
    int workers = 1;                     ///< workers at once
    int start = 1;                       ///< workers to begin with, where their number is searched by throughput
    std::vector<std::vector<int>> cpus;  ///< cores of each worker; empty: any
    double cores = 0;                    ///< each worker's share of the quota of CPU time; 0: as many as `cpus`
};

/// Plans one worker per core (or per `resources.trial.cores` of a script), or `resources.parallel` of them, within the
/// control group's limits on CPU time and processes. Cores are divided evenly while there are enough. If the cores do
/// not limit the number of trials at once (cores_are_searched()), there may be more workers, and none is pinned, as
/// their final number is unknown at their start.
WorkerPlan plan_workers(const Study& study, const Host& host);

/// Returns why the cores keep a script's trials from running `resources.parallel` at once, with the cure. Empty if they
/// do not.
std::string fewer_than_asked(const Study& study, const Host& host);

/// Returns the cores that each native worker computes on, with a thread for each: those that it is pinned to, within
/// the control group's quota of CPU time. Empty if no worker is pinned.
std::vector<std::vector<int>> cores_of_workers(const Study& study, const WorkerPlan& plan);

/// The device of a worker.
struct Target {
    std::string backend = "cpu";         ///< cpu, cuda, opencl or metal
    std::string cuda;                    ///< UUIDs of the GPUs that it may see, separated by commas
    std::optional<std::int64_t> opencl;  ///< number of the OpenCL device
    std::int64_t metal = 0;              ///< bytes that Metal lets all processes use of the GPU; 0: not one of Apple
};

/// Returns the variables that keep PyTorch's allocator on Metal within `reserved` bytes, shared equally by `processes`.
/// They are its high and low watermarks, as shares of the `metal` bytes that the GPU may use: above the low one it
/// releases cached memory, above the high one it fails, and it refuses to start if the low one is not the smaller.
/// Returns none without a reservation.
std::map<std::string, std::string> metal_limits(std::int64_t reserved, std::int64_t processes, std::int64_t metal);

/// Returns the launch of a worker: the native worker, or the study's command. Python scripts find the client. A script
/// without a GPU of its own sees none with `backend: cpu`, else all.
LaunchSpec worker_launch(const Study& study, const Programs& programs, const WorkerPlan& plan, WorkerIndex index,
                         const Target& target);

/// Fails, with the cure, if the absolute path of `path` is not UTF-8, which messages to workers (JSON) must be.
Result<void> check_utf8(const std::filesystem::path& path);

}  // namespace hpo
