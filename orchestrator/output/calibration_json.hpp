// Measured devices as JSON, for `hpo bench devices --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "orchestrator/calibration/calibration.hpp"

namespace hpo {

/// Returns the object that `hpo bench devices --json` prints. A rate or time that was not measured is null.
nlohmann::ordered_json calibrations_json(const std::vector<DeviceCalibration>& devices);

}  // namespace hpo
