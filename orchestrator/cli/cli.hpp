// The command line `hpo COMMAND ...`. Each command has its own file, and cli.cpp holds the table of commands.
#pragma once

namespace hpo {

/// Runs one command and returns its exit code: 0 on success, 1 on failure, 2 for wrong usage, 130 or 143 if a signal
/// ended it.
int run_cli(int argc, char** argv);

}  // namespace hpo
