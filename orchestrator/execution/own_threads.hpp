// Lists the threads of this process, for the answer to SIGQUIT.
#pragma once

#include <string>
#include <vector>

namespace hpo {

/// "hpo runs", "hpo-disk sleeps (futex_do_wait)": a thread each by its name, with the kernel's function in which it
/// sleeps where the kernel tells. Empty if /proc cannot be read.
std::vector<std::string> own_threads();

}  // namespace hpo
