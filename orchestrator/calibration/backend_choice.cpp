#include "orchestrator/calibration/backend_choice.hpp"

#include <algorithm>

namespace hpo {

namespace {

PredictedEnd end_of(int device, double step, double begins, double steps) {
    return {device, step, begins, begins + steps * step};
}

std::optional<PredictedEnd> end_on(const ComputeLoad::Device& device, const TrialToPlace& trial, double core_free,
                                   bool& joins) {
    StepSharing sharing;
    double first_end = 0;
    for (const ComputeLoad::Trial& other : device.trials) {
        ++sharing.others;
        sharing.fused += !trial.fusion_key.empty() && other.fusion_key == trial.fusion_key ? 1 : 0;
        first_end = sharing.others == 1 ? other.ends : std::min(first_end, other.ends);
    }
    joins = sharing.fused > 0;
    const auto step = trial.step(device.index, sharing);
    if (!step) return std::nullopt;
    double begins = joins ? 0 : core_free;
    const bool is_full =
        !joins && trial.on_device && static_cast<double>(trial.on_device->device_bytes) > device.free_bytes;
    if (is_full && !device.trials.empty()) begins = std::max(begins, first_end);
    return end_of(device.index, *step, begins, trial.steps);
}

}  // namespace

BackendChoice choose_backend(ComputeLoad& load, const TrialToPlace& trial) {
    BackendChoice choice;
    if (load.cores.empty()) load.cores.push_back(0);
    const auto core = std::min_element(load.cores.begin(), load.cores.end());
    if (trial.may_use_host)
        if (const auto step = trial.step(host_only, {})) choice.host = end_of(host_only, *step, *core, trial.steps);
    ComputeLoad::Device* best = nullptr;
    bool takes_core = true;
    if (trial.may_use_device)
        for (ComputeLoad::Device& device : load.devices) {
            bool joins = false;
            const auto end = end_on(device, trial, *core, joins);
            if (!end || (choice.device && choice.device->ends <= end->ends)) continue;
            choice.device = end;
            best = &device;
            takes_core = !joins;
        }
    if (!choice.host && !choice.device) return choice;
    if (choice.takes_host()) {
        *core = choice.host->ends;
        return choice;
    }
    best->trials.push_back({choice.device->ends, trial.fusion_key});
    if (trial.on_device && takes_core) best->free_bytes -= static_cast<double>(trial.on_device->device_bytes);
    if (takes_core) *core = std::max(*core, choice.device->ends);
    return choice;
}

}  // namespace hpo
