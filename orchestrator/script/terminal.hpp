// Gives a program a pseudo-terminal as standard output: programs in C and other languages buffer some kilobytes of
// their output unless they print to a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo::script {

/// Both ends of a terminal; they close at exec. What is written to `program` is read from `reader` byte for byte (line
/// ends are not translated, nothing is echoed). `reader` does not block, and fails with EIO once no process has the
/// other end open. It is no process's controlling terminal, so its end sends no signal.
struct Terminal {
    Descriptor reader;
    Descriptor program;
};

/// Opens a terminal. Fails where there are none (for example without /dev/pts in a container).
Result<Terminal> open_terminal();

/// Whether the command profits from a terminal: its program is compiled (an ELF file, found as execvp() does), and no
/// argument names Python, which has a variable for that, or a shell, whose programs are not known.
bool profits_from_terminal(const std::vector<std::string>& command);

/// Variables that make programs print plain text on the terminal.
inline const std::vector<std::string> terminal_variables{"TERM=dumb", "NO_COLOR=1"};

/// Returns the path at which execvp() finds an executable program, in `path` or otherwise in $PATH; empty if it finds
/// none.
std::string path_of(const std::string& program, const std::optional<std::string>& path = {});

}  // namespace hpo::script
