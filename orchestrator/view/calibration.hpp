// Draws the results of `hpo bench devices`: a table of products, the sizes at which devices overtake each other, and a
// roofline of each device (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
// multicore architectures", CACM 2009).
#pragma once

#include <span>
#include <string>

#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Returns the full report. The other devices are compared with the first one.
std::string draw_calibrations(std::span<const DeviceCalibration> devices, const Screen& screen);

/// Returns the roofline of one device and precision. It plots the rate of each product over its arithmetic intensity
/// (flops per byte), and the limit set by memory bandwidth and the fastest product. Both axes are logarithmic. Returns
/// an empty string if the bandwidth or the rates are unknown.
std::string draw_roofline(const DeviceCalibration& device, const std::string& precision, const Screen& screen);

}  // namespace hpo::view
