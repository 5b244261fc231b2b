// What the calibration of a device predicts for the step of a trial, beside what was measured, for `hpo show`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "orchestrator/calibration/step_correction.hpp"
#include "orchestrator/cli/study_snapshot.hpp"

namespace hpo {

struct StepPrediction {
    std::string device;         ///< as in DeviceCalibration: "cpu", "cuda 0"
    double uncorrected = 0;     ///< seconds, alone on the device
    StepCorrection correction;  ///< by earlier trials of the study on the same device
    std::optional<double> measured;

    [[nodiscard]] double predicted() const { return uncorrected * correction.factor; }
};

/// Returns nothing for trials of scripts, without a calibration of the trial's device that can be used, or if the
/// worker cannot be asked.
std::optional<StepPrediction> predict_step_of(const StudySnapshot& snapshot, const TrialRecord& trial);

/// Returns "0.52 s measured, 0.49 s predicted (hpo bench devices: cpu, times 1.31 by 12 earlier trials)".
std::string to_text(const StepPrediction& prediction);
nlohmann::ordered_json to_json(const StepPrediction& prediction);

}  // namespace hpo
