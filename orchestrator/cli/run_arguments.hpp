// The options of `hpo run`, and the command that resumes its study.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orchestrator/lookup/study_source.hpp"

namespace CLI {
class App;
}

namespace hpo {

struct RunArguments {
    std::string file;
    std::string trials, time, jobs, seed, backend, notify, on;
    std::vector<std::string> set;
    std::string listen;  ///< the value of --listen, which may have none
    bool listens = false, fresh = false, json = false, quiet = false, dry_run = false;
};

/// Adds the options to the command. Returns the function that gives their values once they are parsed, and throws Fatal
/// for those that contradict each other.
std::function<RunArguments()> add_run_options(CLI::App& app);

/// Returns the keys that the options set. The short options come after --set and therefore win.
Overrides overrides(const RunArguments& arguments);

/// Returns the arguments with which `hpo run` resumes this study. Without them it would be refused, or have another
/// budget.
std::string resume_arguments(const RunArguments& arguments);

/// Returns these arguments without the file, as words of a shell; empty: there are none.
std::string option_words(const RunArguments& arguments);

}  // namespace hpo
