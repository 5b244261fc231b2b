// What a running session says on the session registry, as views show it.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/view/summary.hpp"

namespace hpo {

/// Fills in the pools and why a trial waits, by what the session of process `pid` on this machine says of `study`. A
/// session that says nothing leaves them empty.
void add_pools(view::Moment& moment, const std::string& study, std::int64_t pid);

}  // namespace hpo
