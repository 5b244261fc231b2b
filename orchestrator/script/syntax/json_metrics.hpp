// Reads metrics from objects in JSON, and from dictionaries as Python and JavaScript print them.
#pragma once

#include <string_view>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// Adds the numbers of the object that `text` begins with, also those in quotes, in lists of one, and wrapped as in
/// tensor(0.5) or np.float64(0.5). Keys of nested objects are joined by '.'. Flags, longer lists and other texts are
/// not metrics. Returns the length of the object in bytes, or 0 if there is none; then nothing is added.
std::size_t add_json(std::string_view text, Reading& reading);

}  // namespace hpo::script
