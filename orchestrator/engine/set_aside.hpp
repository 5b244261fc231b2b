// Sets a study aside in favour of a new one of the same name (`hpo run --fresh`).
#pragma once

#include <filesystem>

#include "hpo/study.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// Moves the existing study to runs/.old, after checking that the new one can start, as far as this machine tells if it
/// does not run `here`. Returns its new path, or an empty one if there was no study. Throws Fatal if the new study
/// cannot start, or the existing one runs or cannot be moved.
std::filesystem::path move_aside(const Study& study, const StudyFolder& folder, const Programs& programs, bool here);

/// Moves the earlier study back after the new one has failed to start. Does nothing if the new study has left a folder.
void move_back(const std::filesystem::path& aside, const StudyFolder& folder);

}  // namespace hpo
