// Finds the study that a command's argument names.
#pragma once

#include <string>

#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// Says whether a command accepts a study that has not begun, since a job of Slurm was submitted for it. Its folder has
/// no database.
enum class Unbegun { refused, allowed };

/// Returns the folder of the study that `argument` names: a study's name, its folder, or its YAML file. An empty
/// argument selects the most recent study. Throws Fatal with the existing studies and the most similar name if there is
/// no such study.
StudyFolder choose_study(const std::string& argument, Unbegun unbegun = Unbegun::refused);

/// Returns true if the argument is the name or the folder of a study, even if it looks like a trial.
bool is_study(const std::string& argument);

/// Throws Fatal with "`problem` 'argument'", the most similar name and the existing studies.
[[noreturn]] void no_such_study(const std::string& argument, const std::string& problem = "no study");

}  // namespace hpo
