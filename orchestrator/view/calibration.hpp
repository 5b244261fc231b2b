// Draws what `hpo bench devices` measured: a table of products, where devices overtake each other, and a roofline of
// each device (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
// architectures", CACM 2009).
#pragma once

#include <span>
#include <string>

#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// The first device is the one that others are compared with.
std::string draw_calibrations(std::span<const DeviceCalibration> devices, const Screen& screen);

/// The roofline of one device and precision: products by arithmetic intensity (flops a byte) and rate, below what
/// memory bandwidth and the fastest product allow. Both axes are logarithmic. Empty without a bandwidth.
std::string draw_roofline(const DeviceCalibration& device, const std::string& precision, const Screen& screen);

}  // namespace hpo::view
