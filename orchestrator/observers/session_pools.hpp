// Reads a running session's reservations from the session registry for the views.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/view/summary.hpp"

namespace hpo {

/// Fills in the pools of `moment` and the reason why a trial waits, from the entry of process `pid` of this machine for
/// `study` in the session registry. Leaves both empty if the session is not registered.
void add_pools(view::Moment& moment, const std::string& study, std::int64_t pid);

}  // namespace hpo
