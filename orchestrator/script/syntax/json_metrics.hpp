// Reads metrics from the text of a JSON object.
#pragma once

#include <string_view>

#include "hpo/trial.hpp"

namespace hpo::script {

/// Adds the numbers of a JSON object, also those in quotes. Flags, lists and other texts are not metrics. Returns false
/// if the text is not an object.
bool add_json(std::string_view text, Metrics& metrics);

}  // namespace hpo::script
