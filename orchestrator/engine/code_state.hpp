// Asks Git for the state of the code that a study runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// Returns the state of the folder in which the study's trials run, as it is now. Asking takes some milliseconds, and
/// seconds at most: of a folder that is too large for that, no changed files are known.
CodeState code_state(const Study& study);

/// Returns fingerprints of the files among the arguments of the script's command, and of the modules of its own folder
/// that a Python program among them imports, as lines of a hash, a blank and the argument. Equal files have equal ones.
/// Files above 16 MiB, and names with a line break, are left out.
std::string fingerprints_of_files(const Study& study);

/// Returns those of these files whose fingerprints are others than in `before`. A file
/// that `before` does not have counts if it was changed after `time`, in seconds since the epoch.
std::vector<std::string> files_changed_since(const Study& study, const std::string& before, double time);

/// Returns the text if it has at most `most` bytes; else its whole lines within these, and the line "(more)".
std::string first_lines(std::string text, std::size_t most);

}  // namespace hpo
