// Why the process that an agent runs in or behind has ended, in words. Pure.
#pragma once

#include <string>
#include <string_view>

namespace hpo::cluster {

/// `program` is that of the command (`ssh`, `srun`, or hpo itself), `status` as waitpid() gives it, and `printed` the
/// last line that it has written to its standard error. Where ssh itself has failed, that line is the reason, with the
/// cure.
std::string why_ended(const std::string& program, int status, const std::string& printed);

/// Returns true if the shell that ssh or srun has started found no hpo that this host can run.
bool cannot_be_started(const std::string& program, int status);

/// Returns true if ssh or srun ended because it did not get to the host, where no agent has answered.
bool cannot_reach(const std::string& program, int status);

/// Returns true if the agent ended since the network was silent.
bool heard_nothing(int status);

/// Returns the last line that tells why, made printable: not the one in which srun repeats the status.
std::string telling_line(std::string_view printed);

}  // namespace hpo::cluster
