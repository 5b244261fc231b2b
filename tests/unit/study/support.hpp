#pragma once

#include <regex>
#include <string>
#include <vector>

#include "orchestrator/study/study_file.hpp"

namespace hpo {

/// The smallest valid study. Further keys can be appended.
inline const std::string synthetic = "study: s\nworker: {data: {format: synthetic}}\n";

inline Result<Study> parse(const std::string& text, const std::vector<std::string>& set = {}) {
    return parse_study(text, "s.yaml", set);
}

/// Returns the error of a study, or "(accepted)" if it is valid.
inline std::string problem(const std::string& text, const std::vector<std::string>& set = {},
                           const Vocabulary& vocabulary = {}) {
    const auto study = parse_study(text, "s.yaml", set, vocabulary);
    return study ? "(accepted)" : study.error().message;
}

/// Returns the first line of an error.
inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the fixed parts of an error's first line: its line and column, and the quoted words and the numbers in it.
/// Its English may change.
inline std::string pins(const std::string& error) {
    static const std::regex pinned(R"(\d+:\d+|'[^' ]+'|\b\d+(\.\d+)?\b)");
    const std::string line = first_line(error);
    std::string all;
    for (std::sregex_iterator at(line.begin(), line.end(), pinned), end; at != end; ++at)
        all += (all.empty() ? "" : " ") + at->str();
    return all.empty() ? line : all;
}

}  // namespace hpo
