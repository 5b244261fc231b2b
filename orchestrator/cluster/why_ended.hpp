// Why the process that an agent runs in or behind has ended, in words. Pure.
#pragma once

#include <string>

namespace hpo::cluster {

/// `program` is that of the command (`ssh`, `srun`, or hpo itself), `status` as waitpid() gives it, and `printed` the
/// last line that it has written to its standard error. Where ssh itself has failed, that line is the reason, with the
/// cure.
std::string why_ended(const std::string& program, int status, const std::string& printed);

}  // namespace hpo::cluster
