// Starts the ranks of a trial (ranks.hpp), as the command of the adapter. It is `hpo` itself, executed again. Rank 0
// has its standard streams; of the others it tells the adapter by records (rank_records.hpp). It ends when all ranks
// have ended, and as the first one that failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hpo {

/// The command of `hpo` that starts ranks: `hpo __ranks COUNT GRACE COMMAND...`.
inline constexpr const char* ranks_command_name = "__ranks";

/// Returns the command that runs `command` in `count` processes. `grace` is the time in seconds from SIGTERM to SIGKILL
/// after a rank has failed.
std::vector<std::string> ranks_command(std::int64_t count, double grace, std::vector<std::string> command);

/// Runs the ranks and returns the exit status, or dies of the signal of which a rank has died.
int run_ranks(int argc, char** argv);

}  // namespace hpo
