#include "os/boot_clock.hpp"

namespace hpo::os {

clockid_t boot_clock() { return CLOCK_BOOTTIME; }

}  // namespace hpo::os
