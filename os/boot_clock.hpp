#pragma once

#include <ctime>

namespace hpo::os {

/// The clock of the time since the system's start that also counts while it sleeps.
clockid_t boot_clock();

}  // namespace hpo::os
