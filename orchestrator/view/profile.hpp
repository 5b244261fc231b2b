// Draws the results of `hpo bench training`: a table of operations, the longest first.
#pragma once

#include <string>

#include "orchestrator/calibration/profile.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// `peaks`: the calibration of the same device, whose rates are the operations' limits; null: none is known.
std::string draw_profile(const TrainingProfile& profile, const DeviceCalibration* peaks, const Screen& screen);

}  // namespace hpo::view
