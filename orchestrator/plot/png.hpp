// Pictures as PNG, by librsvg and cairo, which are loaded when they are needed.
#pragma once

#include <string>

#include "hpo/result.hpp"

namespace hpo::plot {

/// Returns a document of draw_svg() as a PNG file in the light theme, with two pixels for each of its units. Fails with
/// the cure where the libraries are not installed.
Result<std::string> draw_png(const std::string& svg);

}  // namespace hpo::plot
