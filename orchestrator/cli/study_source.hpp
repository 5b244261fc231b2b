// Reading a study for a command: the file, the options that override it, and the parts it may name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// The samplers and stopping rules there are.
Vocabulary known_parts();

/// Keys set on the command line.
struct Overrides {
    std::vector<std::string> set;              ///< key=value, applied in order
    std::map<std::string, std::string> typed;  ///< what was typed for one of them where it was not --set: --trials 8
};

/// Reads and checks a study file. `name` may also be a study that has run: then what it ran with is read. Ends the
/// command with all problems, each with its place and cure: as wrong usage (exit code 2) when only `overrides` are
/// wrong.
Study load_study(const std::string& name, const Overrides& overrides);

}  // namespace hpo
