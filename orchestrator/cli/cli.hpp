// The command line: `hpo COMMAND ...`. One file a command; cli.cpp holds the table of them.
#pragma once

namespace hpo {

/// Runs one command. Exit codes: 0 done, 1 failed, 2 usage, 130 and 143 interrupted.
int run_cli(int argc, char** argv);

}  // namespace hpo
