#include "orchestrator/engine/session_concurrency.hpp"

#include <algorithm>

#include "hpo/user_cache.hpp"
#include "orchestrator/calibration/kept_concurrency.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

/// The search begins with two trials per GPU, as a few scripts usually fill one.
constexpr std::int64_t scripts_on_gpu = 2;

ConcurrencyKey key_of(const Study& study, const SessionMachine& machine, int device, const Machine& reading) {
    const std::string id = is_host(device) ? "" : reading.accelerators.at(static_cast<std::size_t>(device)).id;
    return concurrency_key(machine.host(), id, kind_of_trial(study, machine.target({&device, 1}).backend));
}

}  // namespace

ConcurrencyKey concurrency_key(const Host& host, const std::string& device, std::string kind) {
    return {host_name() + ", " + host.cpu_name + ", " + to_text(Value(host.cores)) + " cores",
            device.empty() ? "host" : device, std::move(kind)};
}

std::optional<ConcurrencyPlan> concurrency_plan(const Study& study, const WorkerPlan& plan,
                                                const SessionMachine& machine) {
    if (!searches_concurrency(study)) return std::nullopt;
    ConcurrencyPlan search{{plan.start, plan.workers}, {}, machine.host().cores};
    const bool script_on_gpu = machine.on_device() && study.script();
    if (script_on_gpu) search.workers.start = std::min(search.workers.start, scripts_on_gpu);
    const std::filesystem::path cache = user_cache();
    if (cache.empty()) return search;
    const Machine reading = machine.read({}, {}, {});
    std::vector<int> devices{host_only};
    if (machine.on_device())
        for (std::size_t i = 0; i < reading.accelerators.size(); ++i) devices.push_back(static_cast<int>(i));
    for (const int device : devices) {
        const ConcurrencyKey key = key_of(study, machine, device, reading);
        if (auto kept = load_concurrency(concurrency_file(cache, key), key))
            search.remembered.emplace(device, std::move(*kept));
    }
    return search;
}

Result<void> keep_findings(const Study& study, const SessionMachine& machine,
                           std::span<const ConcurrencyFinding> findings) {
    const std::filesystem::path cache = user_cache();
    if (cache.empty() || findings.empty()) return {};
    const Machine reading = machine.read({}, {}, {});
    for (const ConcurrencyFinding& finding : findings) {
        const ConcurrencyKey key = key_of(study, machine, finding.device, reading);
        if (auto saved = save_concurrency(concurrency_file(cache, key), key, finding.found); !saved) return saved;
    }
    return {};
}

std::vector<std::string> finding_lines(std::span<const ConcurrencyFinding> findings) {
    std::vector<std::string> lines;
    for (const ConcurrencyFinding& finding : findings) {
        const std::string where = is_host(finding.device) ? "" : "gpu " + std::to_string(finding.device) + ": ";
        if (!finding.workers_text.empty())
            lines.push_back(where + std::to_string(finding.found.workers.number) +
                            ", by their throughput: " + finding.workers_text);
        if (!finding.fused_text.empty())
            lines.push_back(where + std::to_string(finding.found.fused.number) +
                            " in each worker, by their throughput: " + finding.fused_text);
    }
    return lines;
}

}  // namespace hpo
