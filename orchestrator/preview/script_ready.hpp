// Checks a study's script before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo {

struct ScriptProblem {
    const char* key;  ///< of the study
    std::string message;
};

/// Returns the path of the script's program where the command names it without one, such as python3; else empty.
std::string program_on_path(const ScriptWorker& script);

/// Returns the problem of a script whose program, interpreter or file is missing on this machine, or may not be used. A
/// program or file whose name depends on the trial is not checked. Reads the file system.
std::optional<ScriptProblem> missing_program(const Study& study);

/// Returns the problem of a native study whose data are missing on this machine, or may not be read. A path that
/// depends on the trial is not checked. Reads the file system.
std::optional<std::string> missing_data(const Study& study);

/// Throws Refusal if the program or the script does not exist, if no pattern of worker.metrics matches the objective,
/// or if an argument names a file that is written for each trial, but not its folder. The message gives the location in
/// `file`, from which the study was read. Pass an empty `file` if options have changed the study since. Programs
/// and files are checked if trials run `here`, on this machine, and if their names do not depend on the trial. Reads
/// the file system.
void refuse_unready_script(const Study& study, const std::string& file, bool here = true);

/// Returns a warning for each file of the script's folder that the script may read instead of the file of the same name
/// that is written for each trial. Reads the file system.
std::vector<std::string> shadowed_files(const Study& study);

}  // namespace hpo
