// The keys of study files with their values, defaults and meanings: as a list, as JSON and as Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpo {

struct KeyRow {
    std::string key;
    std::string values;    ///< type and range, or the allowed choices
    std::string fallback;  ///< empty: none
    std::string meaning;
};

struct KeySection {
    std::string_view title;
    std::vector<KeyRow> rows;
};

/// Returns all keys: of the study file, the native worker, samplers and stopping rules.
std::vector<KeySection> key_sections();

/// Formats one table per section, between the comment lines that mark it in a page of docs/.
std::string keys_markdown(const std::vector<KeySection>& sections);

/// Returns the object of `hpo keys --json` (docs/json.md).
std::string keys_json(const std::vector<KeySection>& sections);

}  // namespace hpo
