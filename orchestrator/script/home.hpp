// Resolves a script's relative paths.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo::script {

/// Returns `study.home` or the current folder, as an absolute path.
std::string home_of(const Study& study);

/// Returns the command for a working folder other than `home`: arguments that are paths of files in `home` are made
/// absolute, unless `own(argument)` says that they name a file of the trial.
std::vector<std::string> seen_from_elsewhere(std::vector<std::string> command, const std::string& home,
                                             const std::function<bool(const std::string& argument)>& own);

/// Returns the parameters of the space that an unchanged script gets only as HPO_PARAM_ variables, and that nothing in
/// the study seems to read: no placeholder, no argument of the command, no file of the command in `home`. A module that
/// the script imports may still read them. Returns nothing if the script speaks the protocol.
std::vector<std::string> unused_parameters(const Study& study);

}  // namespace hpo::script
