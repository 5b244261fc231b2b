// Starts programs as they are used to: gives one a pseudo-terminal as standard output, and finds out why it cannot
// start. Programs in C and many other languages buffer kilobytes of their output unless they print to a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo::script {

/// Both ends of a terminal, which close at exec. Bytes that are written to `program` are read from `reader` unchanged:
/// line ends are not translated, and nothing is echoed. `reader` is non-blocking and fails with EIO once no process has
/// the other end open. A process that reads from `program` finds the end of the input. The terminal controls no
/// process, so closing it sends no signal.
struct Terminal {
    Descriptor reader;
    Descriptor program;
};

/// Opens a terminal. Fails if the system has none, for example in a container without /dev/pts.
Result<Terminal> open_terminal();

/// Returns true if the command profits from a terminal: its program is compiled (an ELF file, found as execvp() finds
/// it), and no argument names Python, whose buffering an environment variable controls, or a shell, whose programs are
/// not known.
bool profits_from_terminal(const std::vector<std::string>& command);

/// Environment variables that make programs print plain text on the terminal.
inline const std::vector<std::string> terminal_variables{"TERM=dumb", "NO_COLOR=1"};

/// Returns why the program cannot be started if its first line names an interpreter and ends as lines of Windows do,
/// with the cure; otherwise an empty text. The system takes the carriage return for a part of the interpreter's name.
std::string first_line_problem(const std::string& program);

/// Returns the path at which execvp() finds an executable program in `path`, by default in $PATH. Returns an empty text
/// if it finds none.
std::string path_of(const std::string& program, const std::optional<std::string>& path = {});

}  // namespace hpo::script
