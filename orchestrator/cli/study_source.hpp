// Reading a study for a command: the file, the options that override it, and the parts it may name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// The samplers and stopping rules there are.
Vocabulary known_parts();

/// Keys set on the command line.
struct Overrides {
    std::vector<std::string> set;              ///< key=value, applied in order
    std::map<std::string, std::string> typed;  ///< what was typed for one of them where it was not --set: --trials 8
};

/// What becomes of a study without a worker, whose trials somebody else trains: hpo ask-tell alone can search it.
enum class NoWorker { refused, welcome };

/// Reads and checks a study file. `name` may also be a study that has run: then what it ran with is read. Ends the
/// command with all problems, each with its place and cure: as wrong usage (exit code 2) when only `overrides` are
/// wrong.
Study load_study(const std::string& name, const Overrides& overrides, NoWorker no_worker = NoWorker::refused);

/// Whether a stored study (`before`: its source) may go on as `study`; else what keeps it, a key a line, and `cure`.
Result<void> may_go_on(const Study& study, const std::string& before, const std::string& cure);

}  // namespace hpo
