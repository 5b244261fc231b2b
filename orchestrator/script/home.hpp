// Resolves a script's relative paths.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo::script {

/// Returns `script.home` or the current folder, as an absolute path.
std::string home_of(const ScriptWorker& script);

/// Returns the command for a working folder other than `home`. Arguments that are paths of files in `home` are made
/// absolute, except those for which `is_trial_file(argument)` is true.
std::vector<std::string> with_absolute_paths(std::vector<std::string> command, const std::string& home,
                                             const std::function<bool(const std::string& argument)>& is_trial_file);

/// Returns the parameters of the space that nothing seems to read: no placeholder contains them, and no file of the
/// command in `home` contains their HPO_PARAM_ variable. A module that the script imports may still read them. Returns
/// an empty list if the script speaks the protocol.
std::vector<std::string> unused_parameters(const Study& study);

}  // namespace hpo::script
