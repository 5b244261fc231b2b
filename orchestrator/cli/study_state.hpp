#pragma once

#include <string_view>

#include "orchestrator/lookup/study_snapshot.hpp"

namespace hpo {

/// Returns "running", "interrupted", "failed" (as each of its trials) or "finished".
std::string_view state_of(const StudySnapshot& snapshot);

}  // namespace hpo
