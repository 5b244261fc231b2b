#include "orchestrator/engine/step_forecasts.hpp"

#include "orchestrator/calibration/kept_concurrency.hpp"

namespace hpo {

StepForecasts::StepForecasts(const EngineContext& context)
    : context_(context), calibrations_(context.parts.calibrations) {
    if (calibrations_.empty()) return;
    for (const TrialRecord& trial : context.parts.ledger.record().trials) ended(trial);
}

void StepForecasts::greeted(int device, const std::string& identity) {
    const auto found = calibrations_.find(device);
    if (found == calibrations_.end() || found->second.identity == identity) return;
    context_.say(Notice::Level::warning, 0,
                 "the measurements of " + found->second.device +
                     " are not used: the device, its driver, its libraries or hpo have changed since; hpo bench "
                     "devices measures it again");
    calibrations_.erase(found);
}

std::optional<StepForecast> StepForecasts::of(const StepWork& work, const std::string& kind, int device,
                                              const StepSharing& sharing) const {
    const auto found = calibrations_.find(device);
    if (found == calibrations_.end()) return std::nullopt;
    const auto time = predict_step(found->second, work);
    if (!time) return std::nullopt;
    const StepCorrection correction = corrections_.of(found->second.device, kind);
    return StepForecast{
        .device = found->second.device,
        .uncorrected = is_host(device) ? time->seconds() : seconds_beside(found->second, work, *time, sharing),
        .factor = correction.factor,
        .trials = correction.trials,
        .why = {}};
}

void StepForecasts::ended(const TrialRecord& trial) {
    const StepForecast& forecast = trial.allocation->forecast;
    if (forecast.device.empty()) return;
    if (const auto measured = measured_step(trial))
        corrections_.add(forecast.device, model_kind(context_.parts.study, trial.params),
                         {forecast.uncorrected, *measured});
}

}  // namespace hpo
