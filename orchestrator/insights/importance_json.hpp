// The findings of a study as JSON, for `hpo importance --json` and the pages.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>

#include "orchestrator/lookup/study_snapshot.hpp"

namespace hpo {

/// Returns the object of `hpo importance --json` (docs/json.md), with "no_effects". Reads the steps of the trials that
/// are analysed into the snapshot. Throws Fatal if they cannot be read. If they are more than `most_steps`, reads none
/// and returns an object that says so instead of effects.
nlohmann::ordered_json importance_json(StudySnapshot& snapshot,
                                       std::int64_t most_steps = std::numeric_limits<std::int64_t>::max());

}  // namespace hpo
