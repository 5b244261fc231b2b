// Draws figures as text for a terminal, and as SVG.
#pragma once

#include <string>

#include "orchestrator/plot/figure.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::plot {

/// Returns lines of at most `screen.width` columns (80 if it is 0), each with a newline: braille and blocks, or ASCII.
std::string draw_text(const Figure& figure, const view::Screen& screen);

/// Returns a complete SVG document for light and dark surroundings. Texts with markup stay texts.
std::string draw_svg(const Figure& figure);

}  // namespace hpo::plot
