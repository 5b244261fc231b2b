// The site of a session on several hosts.
#pragma once

#include <optional>
#include <vector>

#include "orchestrator/cluster/addresses.hpp"
#include "orchestrator/cluster/listen_at.hpp"
#include "orchestrator/engine/site.hpp"

namespace hpo::cluster {

/// Returns an OpenSite that starts the agents. Hosts that cannot take part are set aside with a warning; the session
/// fails if none is left. With `listen`, further agents join (join_file.hpp), and the session waits for them instead.
OpenSite open_hosts(std::vector<Address> addresses, std::optional<ListenAt> listen = std::nullopt);

/// Returns the study as several hosts run it: a script's trial takes a core unless it declares others, since how many
/// run at once is not searched there. Fails, with the place and the cure, for settings that only one machine supports.
Result<Study> for_several_hosts(Study study);

}  // namespace hpo::cluster
