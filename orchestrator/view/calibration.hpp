// Draws the results of `hpo bench devices`: a table of products, and the sizes at which devices overtake each other.
#pragma once

#include <span>
#include <string>

#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Returns the full report. The other devices are compared with the first one.
std::string draw_calibrations(std::span<const DeviceCalibration> devices, const Screen& screen);

}  // namespace hpo::view
