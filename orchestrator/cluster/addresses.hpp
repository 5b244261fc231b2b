// The hosts of a session, and the commands that start their agents. Pure.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::cluster {

struct Address {
    std::string name;  ///< for users; no two are the same
    /// Starts an agent there, whose standard input and output are the command's. Empty: the agent has joined by itself.
    std::vector<std::string> command;
};

/// Returns the variable of that name; nothing: it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Returns the hosts that `on` names: `local:2` (two agents on this machine), `ssh:a,b` or `slurm` (the nodes of the
/// allocation in which this process runs). `hpo` is the absolute path of this program.
Result<std::vector<Address>> addresses_of(const std::string& on, const std::filesystem::path& hpo,
                                          const Environment& environment);

/// Returns true if this process runs in a batch step, or in a shell, of a Slurm allocation of several nodes.
bool in_allocation_of_several(const Environment& environment);

/// Returns the nodes of a list as Slurm writes it: `gpu[01-03,7],login` is gpu01, gpu02, gpu03, gpu7, login. Fails for
/// others, and for more than 4096 nodes.
Result<std::vector<std::string>> nodes_of(std::string_view list);

}  // namespace hpo::cluster
