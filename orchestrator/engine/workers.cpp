#include "orchestrator/engine/workers.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "orchestrator/execution/environment.hpp"
#include "orchestrator/script/adapter.hpp"
#include "orchestrator/script/preload.hpp"

namespace hpo {

WorkerPlan plan_workers(const Study& study, const Host& host) {
    WorkerPlan plan;
    const Resources& resources = study.resources;
    const double each = study.command.empty() ? 1.0 : std::min(1.0, resources.trial.cores.value_or(1.0));
    auto places = static_cast<std::int64_t>(std::min(host.cores / each, 1024.0));
    if (!resources.parallel_each.empty())
        places = std::accumulate(resources.parallel_each.begin(), resources.parallel_each.end(), std::int64_t{0});
    plan.places = static_cast<int>(std::max<std::int64_t>(1, resources.parallel.value_or(places)));
    const auto cpus = host.cpus.size();
    const auto count = static_cast<std::size_t>(plan.places);
    if (count > cpus) return plan;
    for (std::size_t place = 0; place < count; ++place)
        plan.cpus.emplace_back(host.cpus.begin() + static_cast<std::ptrdiff_t>(place * cpus / count),
                               host.cpus.begin() + static_cast<std::ptrdiff_t>((place + 1) * cpus / count));
    return plan;
}

LaunchSpec worker_launch(const Study& study, const Programs& programs, const WorkerPlan& plan, Place place,
                         const Target& target) {
    LaunchSpec spec;
    spec.command = study.command.empty() ? std::vector<std::string>{programs.worker.string()} : study.command;
    if (study.metrics) spec.command = {programs.hpo.string(), script_word, script_task(study)};
    spec.preload = script::preload_command(study, programs.python);
    // The native worker computes with one thread; a script may use what its place has.
    const auto own = static_cast<std::size_t>(place) < plan.cpus.size() ? plan.cpus[static_cast<std::size_t>(place)]
                                                                        : std::vector<int>{};
    spec.cpus = own;
    spec.environment =
        worker_environment(study.command.empty() ? 1.0 : std::max<double>(1, static_cast<double>(own.size())));
    if (study.command.empty()) spec.environment["HPO_BACKEND"] = target.backend;
    if (study.resources.slots) spec.environment["HPO_SLOTS"] = std::to_string(*study.resources.slots);
    if (target.opencl) spec.environment["HPO_DEVICE"] = std::to_string(*target.opencl);
    if (!study.command.empty() && !programs.python.empty()) {
        const char* path = std::getenv("PYTHONPATH");
        spec.environment["PYTHONPATH"] = programs.python.string() + (path && *path ? ":" + std::string(path) : "");
    }
    if (!target.cuda.empty()) {
        spec.environment["CUDA_VISIBLE_DEVICES"] = target.cuda;
        // Else JAX takes 75 % of the device at its start, and TensorFlow all of it.
        spec.environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false";
        spec.environment["TF_FORCE_GPU_ALLOW_GROWTH"] = "true";
    } else if (study.resources.backend == "cpu") {
        spec.environment["CUDA_VISIBLE_DEVICES"] = "";
    }
    return spec;
}

}  // namespace hpo
