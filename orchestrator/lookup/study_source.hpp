// Reads the study that a command works on, and applies the options that override its keys.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/study/continuation.hpp"

namespace hpo {

/// Returns the names and options of all samplers and stopping rules.
Vocabulary known_parts();

/// Keys set on the command line.
struct Overrides {
    std::vector<std::string> set;              ///< key=value, applied in order
    std::map<std::string, std::string> typed;  ///< entries of `set` that a shorter option stands for, with that option:
                                               ///< "budget.trials=8" -> "--trials 8"
    bool fresh = false;                        ///< true if earlier runs of the study do not matter
};

/// Says whether a command accepts a study without a worker, which only hpo ask-tell can search.
enum class WithoutWorker { refused, allowed };

/// Reads and checks a study file. `name` may also be the name of a study that has run, whose stored file is read then.
/// Throws with all problems, each with its location and cure: Fatal with exit code 2 if only `overrides` are wrong,
/// else Refusal.
Study load_study(const std::string& name, const Overrides& overrides,
                 WithoutWorker without_worker = WithoutWorker::refused);

/// Returns value_warnings() of the study that load_study() reads, with a line's end behind them.
std::string warnings_of(const std::string& name, const Overrides& overrides);

/// Returns the sentence that says how a study with another name learns from the trials of this one.
std::string learning_from(const Study& study);

/// Returns the changes with which a stored study can be resumed as `study`. `before` is the stored study file, and
/// `valued` says whether one of its trials has a value. The Error lists the keys that prevent it, one per line, and
/// ends with `cure`.
Result<Continuation> may_go_on(const Study& study, const std::string& before, const std::function<bool()>& valued,
                               const std::string& cure);

}  // namespace hpo
