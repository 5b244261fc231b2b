// Compares predicted durations of steps with what was then measured, and corrects later predictions by the ratio. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace hpo {

/// The step of a trial that has been measured, in seconds.
struct PredictedAndMeasured {
    double predicted = 0;  ///< by predict_step(), not corrected
    double measured = 0;
};

/// The factor for later trials of the same kind on the same device.
struct StepCorrection {
    double factor = 1;
    std::int64_t trials = 0;  ///< that it follows from; 0: none, and the factor is 1
};

/// Returns the median of measured over predicted of the trials, the later half of which counts alone if they are more
/// than 16: a machine may change. Pairs that are not positive and finite are left out.
StepCorrection step_correction(std::span<const PredictedAndMeasured> trials);

}  // namespace hpo
