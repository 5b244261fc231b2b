// What a machine gives one trial, and what other programs use of it. Pure.
#pragma once

#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// What the empty machine gives one trial: its largest device, and the most memory and cores of a host. Devices that
/// are set aside count: they may come back.
Footprint capacity_of(const Machine& machine);

/// What other programs use of that.
Footprint others_of(const Machine& machine);
/// What they use of a device and its host, or of a host and the largest device.
Footprint others_of(const Machine& machine, int place);

}  // namespace hpo
