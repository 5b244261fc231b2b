// Curves of a metric over steps: for a cell of a table, and as a chart with axes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hpo/trial.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

struct CurvePoint {
    std::int64_t step = 0;
    double value = 0;  ///< may be nan or infinite
};
using Curve = std::vector<CurvePoint>;
/// Curves of the objective's metric, by the number of the trial.
using Curves = std::map<std::int64_t, Curve>;

/// Returns the metric at the steps that reported it; of a long curve about `most` of them, always with the last.
Curve curve_of(const TrialRecord& trial, const std::string& metric, std::size_t most = 512);

/// Draws a curve in one row of at most `width` columns (canvas.hpp).
std::string sparkline_of(const Curve& curve, int width, bool utf8);

/// Adds a chart of `height` rows over the whole width: `own` as a line, `other` as points where that line is not. The
/// values at the top and the bottom stand on the left, and the last step below. Adds nothing for curves without two
/// finite values.
void add_chart(Canvas& canvas, const Curve& own, const Curve& other, int height, const Screen& screen);

}  // namespace hpo::view
