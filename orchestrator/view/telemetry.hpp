// Draws telemetry: the latest sample, and the summary of all of them.
#pragma once

#include <string>

#include "orchestrator/telemetry/summary.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Returns one line for each source: "GPU 0  utilization 12 %  power 187 W ...". An impossible value is marked with
/// "?".
std::string draw_sample(const TelemetrySample& sample, const Screen& screen);

/// Returns a table with a row for each channel: average, extremes and percentiles.
std::string draw_summary(const TelemetrySummary& summary, const Screen& screen);

}  // namespace hpo::view
