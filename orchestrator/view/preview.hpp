// Draws the preview of a study on this machine.
#pragma once

#include <string>

#include "orchestrator/preview/preview.hpp"

namespace hpo::view {

/// Returns rows, each with a name in its first 12 columns; the text is not yet printable().
std::string draw_preview(const CheckedStudy& checked, const Preview& preview);

}  // namespace hpo::view
