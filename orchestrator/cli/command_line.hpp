// Reads the arguments of the program and runs the command that they name.
#pragma once

namespace hpo {

/// Returns the exit code of the command: 2 after an error of usage, which is printed with the closest name and the
/// command whose --help to read.
int parse_and_run(int argc, char** argv);

}  // namespace hpo
