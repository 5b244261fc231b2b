// Collects the facts about this installation that a diagnosis rests on.
#pragma once

#include "orchestrator/doctor/diagnosis.hpp"

namespace hpo {

/// Starts a worker and Python, and reads the devices, the folder of studies and the cache. Changes nothing.
Installation examine();

}  // namespace hpo
