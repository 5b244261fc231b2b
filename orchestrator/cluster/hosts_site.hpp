// The site of a session on several hosts.
#pragma once

#include <vector>

#include "orchestrator/cluster/addresses.hpp"
#include "orchestrator/engine/site.hpp"

namespace hpo::cluster {

/// Returns an OpenSite that starts the agents. Hosts that cannot take part are set aside with a warning; the session
/// fails if none is left.
OpenSite open_hosts(std::vector<Address> addresses);

/// Returns the study as several hosts run it: a script's trial takes a core unless it declares others, since how many
/// run at once is not searched there. Fails, with the place and the cure, for settings that only one machine supports.
Result<Study> for_several_hosts(Study study);

}  // namespace hpo::cluster
