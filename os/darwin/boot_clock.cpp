#include "os/boot_clock.hpp"

namespace hpo::os {

clockid_t boot_clock() { return CLOCK_MONOTONIC; }

}  // namespace hpo::os
