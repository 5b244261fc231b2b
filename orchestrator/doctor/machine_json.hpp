// This machine as hpo devices --json writes it (docs/json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "orchestrator/doctor/machine_reading.hpp"

namespace hpo {

/// Returns host, devices, the studies that use them, and problems. Memory is in bytes.
nlohmann::ordered_json machine_json(const MachineReading& machine);

}  // namespace hpo
