#include "orchestrator/engine/backend_chooser.hpp"

#include <algorithm>

#include "hpo/text.hpp"
#include "orchestrator/calibration/kept_concurrency.hpp"

namespace hpo {

void BackendChooser::choose(std::span<const std::int64_t> waiting, const Machine& machine) {
    if (waiting.empty()) return;
    ComputeLoad now = load(machine);
    for (const std::int64_t trial : waiting) choose(trial, now);
}

void BackendChooser::choose(std::int64_t trial, ComputeLoad& load) {
    const TrialRequirements* needs = requirements_.find(trial);
    const bool any_device = !load.devices.empty();
    const bool no_device = !any_device || (needs && needs->not_on_device);
    if (!needs || !needs->work) {
        if (no_device || (needs && needs->not_on_host)) requirements_.choose(trial, no_device, 0, {});
        return;
    }
    const TrialRecord& record = context_.trial(trial);
    TrialToPlace options{.steps = static_cast<double>(context_.parts.study.budget.epochs - record.steps()),
                         .may_use_host = !needs->not_on_host,
                         .may_use_device = !needs->not_on_device,
                         .fusion_key = {},
                         .on_device = {},
                         .step = [&, kind = model_kind(context_.parts.study, record.params)](
                                     int device, const StepSharing& sharing) -> std::optional<double> {
                             const auto forecast = forecasts_.of(*needs->work, kind, device, sharing);
                             return forecast ? std::optional(forecast->seconds()) : std::nullopt;
                         }};
    if (const auto answer = needs->answers.find(false); answer != needs->answers.end()) {
        options.fusion_key = needs->own_worker ? "" : answer->second.fusion_key;
        options.on_device = answer->second.footprint;
    }
    const BackendChoice choice = choose_backend(load, options);
    if (!choice.host && !choice.device) return requirements_.choose(trial, no_device, 0, {});
    // A trial whose step cannot be predicted on accelerators computes there, as all trials do without calibrations.
    if (!choice.device && !no_device) return requirements_.choose(trial, false, 0, {});
    requirements_.choose(trial, choice.takes_host(), choice.taken().step, text_of(choice));
}

std::string BackendChooser::text_of(const BackendChoice& choice) const {
    if (!choice.host || !choice.device) return {};
    const auto text = [&](const PredictedEnd& end) {
        return "in " + duration_text(end.ends) + " on " + forecasts_.name_of(end.device);
    };
    return "predicted to end " + text(choice.taken()) + ", " +
           text(choice.takes_host() ? *choice.device : *choice.host);
}

/// Returns the predicted remaining seconds of the job, by its own steps if it has any; 0: unknown.
double BackendChooser::seconds_left(const Job& job) const {
    const TrialRecord& trial = context_.trial(job.id.trial);
    const TrialRequirements* needs = requirements_.find(job.id.trial);
    double step = needs ? needs->step : 0;
    if (job.last_step > 0) step = measured_step(trial).value_or(step);
    return step * static_cast<double>(context_.parts.study.budget.epochs - trial.steps());
}

ComputeLoad BackendChooser::load(const Machine& machine) const {
    ComputeLoad load;
    load.cores.assign(static_cast<std::size_t>(std::max(1.0, cores_of(machine))), 0.0);
    for (std::size_t index = 0; index < machine.accelerators.size(); ++index) {
        const Accelerator& device = machine.accelerators[index];
        if (!device.usable) continue;
        load.devices.push_back(
            {static_cast<int>(index), static_cast<double>(device.memory - device.reserve - device.others), {}});
    }
    for (const Worker& worker : pool_.workers()) {
        if (worker.jobs.empty()) continue;
        const auto device = std::find_if(load.devices.begin(), load.devices.end(),
                                         [&](const auto& one) { return one.index == worker.device; });
        double last = 0;
        for (const Job& job : worker.jobs) {
            const double left = seconds_left(job);
            last = std::max(last, left);
            if (device == load.devices.end()) continue;
            device->trials.push_back({left, worker.fusion_key});
            device->free_bytes -= static_cast<double>(job.held.reservation.footprint.device_bytes);
        }
        const auto core = std::min_element(load.cores.begin(), load.cores.end());
        *core = std::max(*core, last);
    }
    return load;
}

}  // namespace hpo
