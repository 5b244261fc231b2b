// The last line of `hpo agent` after the end of its agent, and its exit status. Pure.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/cluster/join_messages.hpp"

namespace hpo::cluster {

struct HowLeft {
    int status = 0;
    std::string text;  ///< one sentence; empty: all has been said
    friend bool operator==(const HowLeft&, const HowLeft&) = default;
};

/// `child`: the status of the agent's process, as waitpid gives it. `left`: the signal that has asked it to leave the
/// study, or 0. `farewell`: the orchestrator's, if one came. `again`: the command that joins once more.
HowLeft how_left(const std::string& study, int child, int left, const std::optional<Farewell>& farewell,
                 const std::string& again);

}  // namespace hpo::cluster
