#include "orchestrator/cli/step_prediction.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/units.hpp"
#include "orchestrator/cli/advice_facts.hpp"

namespace hpo {

namespace {

constexpr std::size_t most_earlier = 32;

/// Mean seconds of a step of training, as the worker measured them.
std::optional<double> measured_step_of(const TrialRecord& trial) {
    if (trial.curve.empty() || !trial.curve.back().seconds || !(*trial.curve.back().seconds > 0)) return std::nullopt;
    return *trial.curve.back().seconds / static_cast<double>(trial.curve.back().step);
}

}  // namespace

std::optional<StepPrediction> predict_step_of(const StudySnapshot& snapshot, const TrialRecord& trial) {
    const Study& study = snapshot.study;
    if (!study.command.empty() || !has_worker(study)) return std::nullopt;
    const KeptCalibrations kept = kept_calibrations();
    const bool on_host = trial.allocation.device.empty();
    const std::string backend = on_host ? "cpu" : study.resources.backend == "opencl" ? "opencl" : "cuda";
    const DeviceCalibration* device = calibration_for(kept.devices, backend);
    if (device == nullptr || trial.attempt == 0) return std::nullopt;
    const auto worker = OneWorker::start(study, installed_programs(), {});
    if (!worker) return std::nullopt;
    const auto predict = [&](const TrialRecord& one) -> std::optional<double> {
        Params configuration = one.params;
        configuration.insert(study.worker.begin(), study.worker.end());
        const auto answer = (*worker)->plan(configuration, study.budget.epochs, study.seed);
        if (!answer) return std::nullopt;
        const auto time = predict_step(*device, step_work(*answer, configuration));
        return time ? std::optional(time->seconds()) : std::nullopt;
    };
    const auto predicted = predict(trial);
    if (!predicted) return std::nullopt;
    std::vector<const TrialRecord*> before;  // the latest ones, from the back
    for (auto one = snapshot.record.trials.rbegin(); one != snapshot.record.trials.rend(); ++one)
        if (one->number < trial.number && one->allocation.device == trial.allocation.device && measured_step_of(*one) &&
            before.size() < most_earlier)
            before.push_back(&*one);
    std::vector<PredictedAndMeasured> pairs;
    for (auto one = before.rbegin(); one != before.rend(); ++one)
        if (const auto seconds = predict(**one)) pairs.push_back({*seconds, *measured_step_of(**one)});
    return StepPrediction{device->device, *predicted, step_correction(pairs), measured_step_of(trial)};
}

std::string to_text(const StepPrediction& prediction) {
    const StepCorrection& correction = prediction.correction;
    std::string text = prediction.measured ? duration_text(*prediction.measured) + " measured, " : "";
    text += duration_text(prediction.predicted()) + " predicted (hpo bench devices: " + printable(prediction.device);
    if (correction.trials > 0)
        text += ", times " + short_number(correction.factor) + " by " + std::to_string(correction.trials) +
                (correction.trials == 1 ? " earlier trial" : " earlier trials");
    return text + ")";
}

nlohmann::ordered_json to_json(const StepPrediction& prediction) {
    using Json = nlohmann::ordered_json;
    return {{"device", prediction.device},
            {"seconds", prediction.predicted()},
            {"factor", prediction.correction.factor},
            {"factor_trials", prediction.correction.trials},
            {"measured", prediction.measured ? Json(*prediction.measured) : Json(nullptr)}};
}

}  // namespace hpo
