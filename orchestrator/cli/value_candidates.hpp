// The values that an option or a positional argument may take, for completion.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/completion.hpp"

namespace CLI {
class Option;
}

namespace hpo {

/// The words before the one that is completed, as the command understands them.
struct WordsBefore {
    std::vector<std::string> positionals;
    const CLI::Option* open = nullptr;  ///< the option whose value comes next
    std::string study;                  ///< the value of --study
    bool only_positionals = false;      ///< after --
};

/// Returns candidates for a value of the option that begins with `begin`, and others that the caller drops.
std::vector<Candidate> value_candidates(const CLI::App& command, const CLI::Option& option, const std::string& begin,
                                        const WordsBefore& parsed, const CompletionSources& sources);

}  // namespace hpo
