// The words that may stand next on a command line, for the shells (hpo completion).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hpo {

struct Candidate {
    std::string word;
    std::string meaning;  ///< shown beside it by shells that can
};

/// Finds the words that are not in the program itself.
struct CompletionSources {
    /// The studies below runs/.
    std::function<std::vector<Candidate>()> studies;
    /// The numbers of the trials of a study; of the most recent one if its name is empty.
    std::function<std::vector<Candidate>(const std::string& study)> trials;
    /// The YAML files and folders whose path begins with a text, folders with a '/' at their end.
    std::function<std::vector<Candidate>(const std::string& begin)> files;
    /// The names of the parameters of a study, by its file or name.
    std::function<std::vector<std::string>(const std::string& study)> parameters;
};

/// Returns the candidates for the last of `words`, which may be empty; the others are all that stands before it but the
/// program's name. A word that ends in '=' or '/' goes on. No candidates: the shell offers files.
std::vector<Candidate> candidates(const CLI::App& program, const std::vector<std::string>& words,
                                  const CompletionSources& sources);

/// Returns the keys of study files for --set, each with '=', or after that the values of the key that are words.
/// `parameters` are the names in the study's space.
std::vector<Candidate> key_candidates(const std::string& begin, const std::vector<std::string>& parameters);

}  // namespace hpo
