// Reading a study for a command: the file, the options that override it, and the parts it may name.
#pragma once

#include <string>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// The samplers and stopping rules there are.
Vocabulary known_parts();

/// Reads and checks a study file. `name` may also be a study that has run: then what it ran with is read. Ends the
/// command with all problems, each with its place and cure.
Study load_study(const std::string& name, const std::vector<std::string>& set);

}  // namespace hpo
