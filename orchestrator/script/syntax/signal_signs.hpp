// Finds out that a process died of a signal below a shell, make or another launcher, which then only exits.
#pragma once

#include <optional>
#include <string_view>

namespace hpo::script {

/// Returns true if the line is a shell's about a command that died of a signal: "Killed", or "run.sh: line 3: 7 Aborted
/// python3 train.py".
bool is_shell_death(std::string_view line);

/// Returns the signal of which a process died according to a line of a shell, make, torchrun, Python's subprocess, go
/// run, cargo, npm, mpirun or Slurm. Returns nothing for any other line.
std::optional<int> signal_named(std::string_view line);

/// Returns the signal that an exit status stands for: 128 + n is a shell's, 256 - n that of `sys.exit(returncode)` in
/// Python. A program may also exit with these by itself, which hardly one does.
std::optional<int> signal_of_status(int status);

}  // namespace hpo::script
