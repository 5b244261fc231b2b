// Prints what users have written about a study or a trial.
#pragma once

#include <string>

#include "orchestrator/store/notes.hpp"

namespace hpo {

/// Returns a line for the tags and one for each note; empty if there are none.
std::string remarks_text(const Remarks& remarks);

}  // namespace hpo
