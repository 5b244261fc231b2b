// Writes the signs of a line that look like ASCII ones in ASCII, so that the readers of lines need to know no others.
#pragma once

#include <string>
#include <string_view>

namespace hpo::script {

/// Replaces frames of tables and bars by '|', '-', '+' and '#', full-width and typographic signs by their likes,
/// arrows by "->", other symbols and control characters by blanks. Letters of all scripts stay. Bytes that are not
/// UTF-8 become '?'.
std::string plain_text(std::string_view line);

}  // namespace hpo::script
