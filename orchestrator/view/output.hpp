// Writes to the terminal or another reader so that a reader that does not read cannot keep the program from ending.
#pragma once

#include <string_view>

namespace hpo::view {

/// Writes all of `text` and waits for the reader as long as necessary. Once a signal has asked for the end
/// (hpo/interrupted.hpp), all calls together wait only briefly. Returns false on failure, with errno set; ETIMEDOUT if
/// that time is over.
bool write_to(int fd, std::string_view text);

}  // namespace hpo::view
