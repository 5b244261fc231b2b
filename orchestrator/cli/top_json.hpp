// The JSON of `hpo top --json`.
#pragma once

#include <string>

namespace hpo {

struct StudySnapshot;

/// Returns the study with its memory, its trials and their predicted ends as one JSON object, and a line feed.
std::string top_json(const StudySnapshot& snapshot);

}  // namespace hpo
