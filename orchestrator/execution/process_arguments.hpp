// Reads macOS's answer to KERN_PROCARGS2. Pure.
#pragma once

#include <string>
#include <string_view>

namespace hpo {

struct ProcessArguments {
    std::string command;      ///< the command and its arguments, each followed by a NUL
    std::string environment;  ///< the variables, each followed by a NUL
};

/// `answer` is the number of arguments as an int of this machine, the path of the program with one NUL or more behind
/// it, the arguments and the variables, each followed by a NUL, and an empty text. Anything may follow, as the strings
/// that the kernel adds for the loader. An answer that is cut short gives its beginning.
ProcessArguments process_arguments(std::string_view answer);

}  // namespace hpo
