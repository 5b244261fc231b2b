// Breaks prose into lines.
#pragma once

#include <cstddef>
#include <string>

namespace hpo::view {

/// Breaks the text into lines of at most `width` columns. All but the first begin with `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

}  // namespace hpo::view
