// Collects the facts about this installation that a diagnosis rests on.
#pragma once

#include <filesystem>

#include "orchestrator/doctor/diagnosis.hpp"

namespace hpo {

/// Starts a worker and Python, and reads the devices, the folder of studies and the cache. Changes nothing.
Installation examine();

/// Returns the folder of all studies or, where it does not exist, the innermost folder around it that does.
std::filesystem::path existing_runs_folder();

}  // namespace hpo
