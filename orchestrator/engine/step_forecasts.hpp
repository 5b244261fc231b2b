// Predicts the duration of a native trial's step on each device, by the devices' calibrations, corrected by the times
// of earlier trials.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "orchestrator/calibration/step_correction.hpp"
#include "orchestrator/calibration/step_time.hpp"
#include "orchestrator/engine/context.hpp"

namespace hpo {

class StepForecasts {
   public:
    /// Learns from the trials of the record. The context outlives the object.
    explicit StepForecasts(const EngineContext& context);

    /// Takes in the identity that a worker on the device (or `host_only`) has sent. Drops a calibration with another
    /// identity, which was made with another driver, other libraries or another version.
    void greeted(int device, const std::string& identity);

    /// Returns nothing if the device is not calibrated, or not for this kind of trial.
    [[nodiscard]] std::optional<StepForecast> of(const StepWork& work, const std::string& kind, int device,
                                                 const StepSharing& sharing) const;

    /// Returns the name of a device that has a calibration, as calibrations have it.
    [[nodiscard]] const std::string& name_of(int device) const { return calibrations_.at(device).device; }

    /// Learns from an ended attempt of the trial.
    void ended(const TrialRecord& trial);

   private:
    const EngineContext& context_;
    std::map<int, DeviceCalibration> calibrations_;  ///< by the index of the device, or host_only
    StepCorrections corrections_;
};

}  // namespace hpo
