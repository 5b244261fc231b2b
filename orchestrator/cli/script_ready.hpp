// Checks a study's script before anything runs.
#pragma once

#include <string>

#include "hpo/study.hpp"

namespace hpo {

/// Throws Refusal if the program or the script does not exist, or if no pattern of worker.metrics matches the
/// objective. The message gives the location in `file`, from which the study was read. Pass an empty `file` if options
/// have changed the study since. A program or script whose name depends on the trial is not checked. Reads the file
/// system.
void refuse_unready_script(const Study& study, const std::string& file);

}  // namespace hpo
