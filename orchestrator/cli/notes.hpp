// Prints the remarks of users about a study or a trial.
#pragma once

#include <string>

#include "orchestrator/store/notes.hpp"

namespace hpo {

/// Returns "keep, may"; empty if there are no tags.
std::string tags_text(const Remarks& remarks);

/// Returns a line "2026-11-27  text" for each note.
std::string notes_text(const Remarks& remarks);

/// Returns a line for the tags and one for each note; empty if there are none.
std::string remarks_text(const Remarks& remarks);

}  // namespace hpo
