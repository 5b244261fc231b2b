// The capacity that a machine gives one trial, and the use by other programs. Pure.
#pragma once

#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// Returns the capacity of the empty machine for one trial: its largest device, and the most memory and cores of a
/// host. Devices that are set aside count: they may come back.
Footprint capacity_of(const Machine& machine);

/// Returns the part of that capacity that other programs use.
Footprint others_of(const Machine& machine);
/// Returns their use of a device and its host, or of a host and the largest device.
Footprint others_of(const Machine& machine, int place);

/// Returns the most memory that other programs leave on one device, and on one host that is not gone. 0 where they
/// leave none.
Footprint left_of(const Machine& machine);

}  // namespace hpo
