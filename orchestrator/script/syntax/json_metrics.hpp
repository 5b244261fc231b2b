// Reads metrics from the text of a JSON object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "hpo/trial.hpp"

namespace hpo::script {

/// Parses JSON in which numbers may be NaN and Infinity, as Python writes them; these become texts. Returns a discarded
/// value if the text is no JSON.
nlohmann::json parse_json(std::string_view text);

/// Adds the numbers of a JSON object, also those in quotes. Flags, lists and other texts are not metrics. Returns false
/// if the text is not an object.
bool add_json(std::string_view text, Metrics& metrics);

}  // namespace hpo::script
