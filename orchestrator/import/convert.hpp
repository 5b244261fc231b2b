// Converts studies that were written for other tools to commented study files.
//
// The formats are listed in registry.hpp. A remark reports each thing that cannot be converted, with its line and the
// cure. The result is always a valid study, since it is parsed before it is returned.
//
// Time and memory are bounded for any input. The limits are those of study files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/result.hpp"

namespace hpo::importing {

/// Selects the tool by the file's content.
inline constexpr std::string_view any_tool = "auto";

struct Conversion {
    std::string tool;                  ///< name of the tool, such as "wandb"
    std::string yaml;                  ///< the study with the remarks as comments
    std::vector<std::string> remarks;  ///< "sweep.yaml:12: ...", in the order of the file, without newlines
};

/// Reads another file that the converted one names ("searchSpaceFile"), relative to it.
using ReadOther = std::function<Result<std::string>(const std::string& name)>;

/// Converts `text`. `file_name` is shown in remarks and errors, and names the study if the text does not. `tool` is one
/// of tool_names() or any_tool. `known` contains the samplers and rules that may be used. Fails if no format matches
/// the file or if the file has errors. Errors look like those of study files, with line and caret.
Result<Conversion> convert(std::string_view text, const std::string& file_name, std::string_view tool,
                           const Vocabulary& known, const ReadOther& read_other);

}  // namespace hpo::importing
