// Whether a study's script could be started and read at all: what can be seen before anything runs.
#pragma once

#include <string>

#include "hpo/study.hpp"

namespace hpo {

/// Ends the command with each problem at its place in `file`, which the study was read from (empty: it is not as the
/// file says): a program or a script that is not there, patterns of which none gives the objective. Commands whose
/// program or script depends on the trial are not looked at. Looks at the file system.
void refuse_unready_script(const Study& study, const std::string& file);

}  // namespace hpo
