// The object that hpo show --json prints.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "orchestrator/lookup/study_snapshot.hpp"

namespace hpo {

/// Returns a trial with all its steps (docs/json.md). Throws Fatal if there is no such trial, or if it cannot be read.
nlohmann::ordered_json shown_trial(StudySnapshot& snapshot, std::int64_t number);

}  // namespace hpo
