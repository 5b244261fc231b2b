// Reads the measurements that `hpo bench devices` has kept of this machine.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/calibration/calibration.hpp"

namespace hpo {

/// The measurements of `hpo bench devices` that are kept.
struct KeptCalibrations {
    std::vector<DeviceCalibration> devices;  ///< of this machine
    std::vector<std::string> refused;        ///< sentences about those that cannot be used, and why
};
KeptCalibrations kept_calibrations();

}  // namespace hpo
