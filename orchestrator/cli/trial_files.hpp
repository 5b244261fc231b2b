#pragma once

#include <cstdint>

#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/view/detail.hpp"

namespace hpo {

/// Returns the paths of a trial's log and folder. The path of a missing one is empty.
view::TrialFiles files_of(const StudyFolder& folder, std::int64_t trial);

}  // namespace hpo
