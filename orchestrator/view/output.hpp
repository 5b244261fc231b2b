// Writing to the terminal or whatever else reads the program, so that a reader that does not read cannot keep it from
// ending.
#pragma once

#include <string_view>

namespace hpo::view {

/// Writes all of it, waiting for the reader as long as it takes; once a signal has asked for the end
/// (hpo/interrupted.hpp) a moment more, in all calls together. False: errno says why, ETIMEDOUT if that moment is over.
bool write_to(int fd, std::string_view text);

}  // namespace hpo::view
