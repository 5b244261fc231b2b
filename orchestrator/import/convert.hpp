// Converts studies that were written for other tools to commented study files.
//
// The formats are listed in registry.hpp. For what cannot be converted there is a remark with the line and what to do
// instead. The result is always a valid study, because it is parsed before it is returned.
//
// Converting any bytes takes bounded time and memory: the limits are those of study files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/result.hpp"

namespace hpo::importing {

/// In place of a tool's name: the tool is determined by the file's content.
inline constexpr std::string_view any_tool = "auto";

struct Conversion {
    std::string tool;                  ///< as named by its format
    std::string yaml;                  ///< the study with the remarks as comments
    std::vector<std::string> remarks;  ///< "sweep.yaml:12: ...", in the order of the file, without newlines
};

/// Returns the text of another file that the first one names ("searchSpaceFile"), relative to it.
using ReadOther = std::function<Result<std::string>(const std::string& name)>;

/// Converts `text`. `file_name` is shown in remarks and errors, and is the study's name if the text has none. `tool` is
/// one of tool_names() or any_tool. `known` contains the samplers and rules that may be used. Errors have the form of
/// those of study files, with line and caret.
Result<Conversion> convert(std::string_view text, const std::string& file_name, std::string_view tool,
                           const Vocabulary& known, const ReadOther& read_other);

}  // namespace hpo::importing
