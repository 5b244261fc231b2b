// A pseudo-terminal as a program's standard output: programs in C and others keep back what they print, until some
// kilobytes are full, unless they print to a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo::script {

/// Two ends that close at exec. What is written to `program` is read from `reader`, byte for byte (no line ends are
/// translated, nothing is echoed). `reader` does not block; it fails with EIO once nobody has the other end open. It is
/// nobody's controlling terminal: its end signals nobody.
struct Terminal {
    Descriptor reader;
    Descriptor program;
};

/// Fails where there are none (no /dev/pts in a container, say).
Result<Terminal> open_terminal();

/// Whether the command profits from a terminal: its program is compiled (an ELF file, looked for as execvp() does), and
/// no word of it names Python, which is told by a variable, or a shell, whose programs are not known.
bool profits_from_terminal(const std::vector<std::string>& command);

/// The variables that tell programs on it to print plain text.
inline const std::vector<std::string> terminal_variables{"TERM=dumb", "NO_COLOR=1"};

/// Where execvp() finds a program that can be executed, in `path` or else in $PATH; empty: nowhere.
std::string path_of(const std::string& program, const std::optional<std::string>& path = {});

}  // namespace hpo::script
