// Reads the calibrations of this machine that `hpo bench devices` has stored.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/calibration/calibration.hpp"

namespace hpo {

/// The stored calibrations of this machine.
struct KeptCalibrations {
    std::vector<DeviceCalibration> devices;  ///< the usable ones
    std::vector<std::string> refused;        ///< a sentence for each unusable calibration, with the reason
};
KeptCalibrations kept_calibrations();

}  // namespace hpo
