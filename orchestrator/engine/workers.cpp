#include "orchestrator/engine/workers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "hpo/version.hpp"
#include "orchestrator/devices/mps.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/execution/environment.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/core_shares.hpp"
#include "orchestrator/script/adapter.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/script/preload.hpp"
#include "orchestrator/script/task.hpp"
#include "os/process.hpp"

namespace hpo {

namespace {

/// Processes per worker, or per rank: a supervisor, an interpreter with some threads, one or two data loaders.
constexpr std::int64_t processes_of_a_trial = 8;

}  // namespace

Programs installed_programs() {
    const auto self = or_fail(os::own_program_file());
    return {self, self.parent_path() / "hpo-worker", self.parent_path().parent_path() / "share/hpo/python"};
}

WorkerPlan plan_workers(const Study& study, const Host& host) {
    WorkerPlan plan;
    const Resources& resources = study.resources;
    const bool searched = cores_are_searched(study);
    const double each = resources.trial.all_cores();
    auto workers = static_cast<std::int64_t>(std::min(host.cores / each, 1024.0));
    if (!resources.parallel_each.empty())
        workers = std::accumulate(resources.parallel_each.begin(), resources.parallel_each.end(), std::int64_t{0});
    plan.start = static_cast<int>(std::max<std::int64_t>(1, workers));
    if (searched) workers = std::clamp<std::int64_t>(most_of_budget(study), workers, 1024);
    if (host.processes)
        workers = std::min(workers, *host.processes / (processes_of_a_trial * resources.trial.processes));
    plan.workers = static_cast<int>(std::max<std::int64_t>(1, resources.parallel.value_or(workers)));
    plan.start = std::min(plan.start, plan.workers);
    if (searched) {
        plan.cores = 1;
        return plan;
    }
    plan.cores = host.cores / plan.workers;
    const auto cpus = host.cpus.size();
    const auto count = static_cast<std::size_t>(plan.workers);
    if (count > cpus) return plan;
    for (std::size_t index = 0; index < count; ++index)
        plan.cpus.emplace_back(host.cpus.begin() + static_cast<std::ptrdiff_t>(index * cpus / count),
                               host.cpus.begin() + static_cast<std::ptrdiff_t>((index + 1) * cpus / count));
    return plan;
}

std::string fewer_than_asked(const Study& study, const Host& host) {
    if (!study.resources.parallel || (!study.script() && study.resources.trial.processes == 1)) return {};
    const auto wanted = static_cast<double>(std::min(*study.resources.parallel, study.budget.trials));
    const double each = study.resources.trial.all_cores();
    const double fit = std::max(1.0, std::floor(host.cores / each + 1e-9));
    if (fit >= wanted) return {};
    // Two digits, rounded down, so that all fit.
    const double share = host.cores / wanted / static_cast<double>(study.resources.trial.processes);
    const double digit = std::pow(10, std::floor(std::log10(share)) - 1);
    return "resources.parallel is " + std::to_string(*study.resources.parallel) + ", and no more than " +
           counted(static_cast<std::int64_t>(fit), "trial runs", "trials run") + " at once: each reserves " +
           with_digits(each, 4) + " of " + cores_text(host.cores) +
           "; resources.trial: {cores: " + with_digits(std::floor(share / digit + 1e-9) * digit, 3) +
           "} makes room for " + std::to_string(static_cast<std::int64_t>(wanted));
}

std::vector<std::vector<int>> cores_of_workers(const Study& study, const WorkerPlan& plan) {
    if (study.script()) return {};
    std::vector<std::vector<int>> cores = plan.cpus;
    const auto most = std::min(most_cores_of_a_worker, static_cast<std::size_t>(std::max(1.0, plan.cores)));
    for (auto& own : cores) own.resize(std::min(own.size(), most));
    return cores;
}

namespace {

/// "0-3, 8".
std::string ranges_of(const std::vector<int>& cpus) {
    std::string text;
    for (std::size_t i = 0; i < cpus.size();) {
        std::size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(cpus[i]);
        if (last > i) text += "-" + std::to_string(cpus[last]);
        i = last + 1;
    }
    return text;
}

/// Returns the variables, those of one value on one line. The study's own are named without values, which may be
/// secrets.
std::string description_of(const LaunchSpec& spec, const std::map<std::string, std::string>& by_hpo,
                           const ScriptWorker& script) {
    std::map<std::string, std::string> names_by_value;
    std::string own;
    const auto add = [](std::string& list, const std::string& name) { list += (list.empty() ? "" : ", ") + name; };
    for (const auto& [name, value] : by_hpo)
        if (!script.environment.own.contains(name)) add(names_by_value[value], name);
    for (const auto& [name, value] : script.environment.own) add(own, name + (value ? "" : " (as hpo's)"));
    std::string text;
    const auto line = [&](const std::string& added) { text += (text.empty() ? "" : "\n") + added; };
    if (!spec.cpus.empty()) line("cores " + ranges_of(spec.cpus));
    for (const auto& [value, names] : names_by_value) line(names + " = " + value);
    if (!own.empty()) line("by the study: " + own);
    return text;
}

constexpr const char* metal_limit = "PYTORCH_MPS_HIGH_WATERMARK_RATIO";
constexpr const char* metal_soft_limit = "PYTORCH_MPS_LOW_WATERMARK_RATIO";

/// True if the user has set one of the limits, which must fit together.
bool limits_metal_itself() { return std::getenv(metal_limit) != nullptr || std::getenv(metal_soft_limit) != nullptr; }

/// Returns the environment including the study's own variables.
void complete_environment(LaunchSpec& spec, const ScriptWorker& script, const Programs& programs) {
    for (const auto& [name, value] : script.environment.own) {
        spec.environment.erase(name);
        if (value) spec.environment[name] = *value;
    }
    if (programs.python.empty()) return;
    const char* inherited = std::getenv("PYTHONPATH");
    const auto own = spec.environment.find("PYTHONPATH");
    std::string path = own != spec.environment.end() ? own->second : inherited != nullptr ? inherited : "";
    // `python -m` searches the working folder.
    if (!script.cwd.empty()) path += (path.empty() ? "" : ":") + script::home_of(script);
    const std::string shim = script.shim.empty() ? "" : (programs.python / "shims" / script.shim).string() + ":";
    // Output is read line by line, so that several processes must write whole lines.
    const bool unbuffered = script.environment.tuned && !script.environment.own.contains("PYTHONUNBUFFERED");
    const std::string lines = script.metrics && unbuffered ? (programs.python / "lines").string() + ":" : "";
    spec.environment["PYTHONPATH"] = lines + shim + programs.python.string() + (path.empty() ? "" : ":" + path);
}

}  // namespace

std::map<std::string, std::string> metal_limits(std::int64_t reserved, std::int64_t processes, std::int64_t metal) {
    if (reserved <= 0 || metal <= 0) return {};
    constexpr double steps = 10000;  // of the texts: four digits behind the point
    const auto text = [](double ratio) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.4f", ratio);
        return std::string(digits);
    };
    const double share = static_cast<double>(reserved) / static_cast<double>(std::max<std::int64_t>(1, processes)) /
                         static_cast<double>(metal);
    const double limit = std::ceil(std::min(share, 1.0) * steps) / steps;  // 0 would mean none
    return {{metal_limit, text(limit)}, {metal_soft_limit, text(std::floor(limit * 0.8 * steps) / steps)}};
}

LaunchSpec worker_launch(const Study& study, const Programs& programs, const WorkerPlan& plan, WorkerIndex index,
                         const Target& target) {
    LaunchSpec spec;
    const ScriptWorker* script = study.script();
    spec.command = script ? script->command : std::vector<std::string>{programs.worker.string()};
    if (script) {
        if (script::has_adapter(study))
            spec.command = {programs.hpo.string(), script_command, script::task_text(study)};
        spec.preload = script::preload_command(*script, programs.python);
        spec.folder = script->home;
        if (!script::has_adapter(study) && !script->cwd.empty()) {
            const std::string home = script::home_of(*script);
            spec.folder = std::filesystem::path(home) / script->cwd;
            spec.command = script::with_absolute_paths(script->command, home, [](const std::string&) { return false; });
        }
    }
    // The native worker's libraries use one thread each; a script may use all cores of its worker.
    const auto own = static_cast<std::size_t>(index) < plan.cpus.size() ? plan.cpus[static_cast<std::size_t>(index)]
                                                                        : std::vector<int>{};
    if (!script || script->environment.tuned) {
        spec.cpus = own;
        auto cores = static_cast<double>(own.size());
        if (plan.cores > 0) cores = std::min(cores, std::floor(plan.cores));
        const auto processes = static_cast<double>(study.resources.trial.processes);
        spec.environment = worker_environment(!script ? 1.0 : std::floor(cores / processes));
        if (!target.cuda.empty()) {
            // By default JAX takes 75 % of a device's memory at its start, and TensorFlow all of it.
            spec.environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false";
            spec.environment["TF_FORCE_GPU_ALLOW_GROWTH"] = "true";
            if (const auto pipes = mps_pipes()) spec.environment["CUDA_MPS_PIPE_DIRECTORY"] = pipes->string();
        }
    }
    if (script && !limits_metal_itself())
        spec.environment.merge(metal_limits(study.resources.trial.device_bytes.value_or(0),
                                            study.resources.trial.processes, target.metal));
    if (!target.cuda.empty())
        spec.environment["CUDA_VISIBLE_DEVICES"] = target.cuda;
    else if (study.resources.backend == "cpu")
        spec.environment["CUDA_VISIBLE_DEVICES"] = "";
    if (target.opencl) spec.environment["HPO_DEVICE"] = std::to_string(*target.opencl);
    if (!script) {
        spec.environment["HPO_VERSION"] = version;
        spec.environment["HPO_BACKEND"] = target.backend;
        if (study.resources.slots) spec.environment["HPO_SLOTS"] = std::to_string(*study.resources.slots);
        if (const std::int64_t processes = study.resources.trial.processes; processes > 1)
            spec.environment["HPO_PROCESSES"] = std::to_string(processes);
        return spec;
    }
    spec.description = description_of(spec, spec.environment, *script);
    if (const std::int64_t processes = study.resources.trial.processes; processes > 1)
        spec.description += (spec.description.empty() ? "" : "\n") + std::to_string(processes) +
                            " processes, each with RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, "
                            "MASTER_PORT";
    complete_environment(spec, *script, programs);
    return spec;
}

Result<void> check_utf8(const std::filesystem::path& path) {
    const std::string whole = std::filesystem::absolute(path).string();
    for (std::string_view rest = whole; !rest.empty();) {
        std::uint32_t code = 0;
        const auto length = detail::utf8_sequence(rest, code);
        if (length == 0)
            return Error{
                printable(whole) +
                ": the name is not UTF-8, so no message to a worker can contain it: work in another folder, or set "
                "HPO_RUNS to one"};
        rest.remove_prefix(length);
    }
    return {};
}

}  // namespace hpo
