// What a machine gives one trial, and what other programs use of it. Pure.
#pragma once

#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// What the empty machine gives one trial: its largest device, the host. Devices that are set aside count: they may
/// come back.
Footprint capacity_of(const Machine& machine);

/// What other programs use of that: of `device`, or (`host_only`) of the largest one.
Footprint others_of(const Machine& machine, int device = host_only);

}  // namespace hpo
