// The folders that a script's relative paths mean.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hpo/study.hpp"

namespace hpo::script {

/// Absolute: `study.home`, or the current folder.
std::string home_of(const Study& study);

/// The command as it is to be given where the working folder is not `home`: a word that is the path of a file there is
/// made absolute. `own(word)`: it names a file of the trial instead.
std::vector<std::string> seen_from_elsewhere(std::vector<std::string> command, const std::string& home,
                                             const std::function<bool(const std::string& word)>& own);

/// Parameters of the space that the study hands to its unchanged script by their HPO_PARAM_ variables alone, and that
/// nothing it names reads there: no placeholder, no word of the command, no file of the command in `home`. Whether a
/// module that the script imports does, nobody can tell. Nothing where the script speaks the protocol.
std::vector<std::string> unused_parameters(const Study& study);

}  // namespace hpo::script
