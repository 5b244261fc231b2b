// Checks a study's script before anything runs.
#pragma once

#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo {

/// Throws Refusal if the program or the script does not exist, if no pattern of worker.metrics matches the objective,
/// or if an argument names a file that is written for each trial, but not its folder. The message gives the location in
/// `file`, from which the study was read. Pass an empty `file` if options have changed the study since. A program or
/// script whose name depends on the trial is not checked. Reads the file system.
void refuse_unready_script(const Study& study, const std::string& file);

/// Returns a warning for each file of the script's folder that the script may read instead of the file of the same name
/// that is written for each trial. Reads the file system.
std::vector<std::string> shadowed_files(const Study& study);

}  // namespace hpo
