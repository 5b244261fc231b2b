// Studies that were written for other tools, as commented study files for hpo.
//
// The formats are those of registry.hpp. What cannot be carried over as it is becomes a remark: the line it stands in
// and what to do instead. The result always reads as a study: it is parsed before it is returned.
//
// Whatever the bytes, converting ends in bounded time and memory: the limits are those of study files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/result.hpp"

namespace hpo::importing {

/// In place of a tool's name: the file's content says which it is of.
inline constexpr std::string_view any_tool = "auto";

struct Conversion {
    std::string tool;                  ///< as its format's row names it
    std::string yaml;                  ///< the study, remarks and all
    std::vector<std::string> remarks;  ///< "sweep.yaml:12: ...", in the order of the file; not ended
};

/// The text of another file that the first one names ("searchSpaceFile"), relative to it.
using ReadOther = std::function<Result<std::string>(const std::string& name)>;

/// `file_name` is shown in remarks and errors, and gives the study its name where the text has none. `tool` is one of
/// tool_names() or any_tool. `known` are the samplers and rules that may be chosen. Errors are shown as those of study
/// files are, with line and caret.
Result<Conversion> convert(std::string_view text, const std::string& file_name, std::string_view tool,
                           const Vocabulary& known, const ReadOther& read_other);

}  // namespace hpo::importing
