// Compares predicted durations of steps with their measurements, and corrects later predictions by the ratio. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace hpo {

/// The step of a trial that has been measured, in seconds.
struct PredictedAndMeasured {
    double predicted = 0;  ///< by predict_step(), not corrected
    double measured = 0;
};

/// The factor for later trials of the same kind on the same device.
struct StepCorrection {
    double factor = 1;
    std::int64_t trials = 0;  ///< number of trials from which the factor follows; 0: none, and the factor is 1
};

/// Returns the median of measured over predicted of the trials, the later half of which counts alone if they are more
/// than 16: a machine may change. Pairs that are not positive and finite are left out.
StepCorrection step_correction(std::span<const PredictedAndMeasured> trials);

/// The corrections of each device and kind of trial.
class StepCorrections {
   public:
    /// `device` is named as in DeviceCalibration, and `kind` is a model of the native worker, such as "mlp".
    void add(const std::string& device, const std::string& kind, PredictedAndMeasured trial);
    [[nodiscard]] StepCorrection of(const std::string& device, const std::string& kind) const;

   private:
    std::map<std::pair<std::string, std::string>, std::deque<PredictedAndMeasured>> trials_;
};

}  // namespace hpo
