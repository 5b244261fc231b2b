// Which study a command means, and a snapshot of it.
#pragma once

#include <string>

#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// `argument`: a study's name, its folder, or its YAML file; empty: the only study, or the most recent one. Ends the
/// command with what exists, and the nearest name, when there is no such study.
StudyFolder choose_study(const std::string& argument);

/// Ends the command with "`what` 'argument'", the nearest name and the studies there are.
[[noreturn]] void no_such_study(const std::string& argument, const std::string& what = "no study");

}  // namespace hpo
