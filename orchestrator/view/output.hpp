// Writes to a terminal or a pipe. A reader that has stopped reading cannot keep the program from ending.
#pragma once

#include <string_view>

namespace hpo::view {

/// Writes all of `text` and waits for the reader as long as necessary. Once a signal has interrupted the program
/// (hpo/interrupted.hpp), all calls together wait at most 250 ms. Waits out shortages of the kernel for up to a minute.
/// Returns false and sets errno on failure, to ETIMEDOUT if the time after a signal is over.
bool write_to(int fd, std::string_view text);

}  // namespace hpo::view
