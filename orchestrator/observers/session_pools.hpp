// Reads a running session's reservations and predictions from the session registry for the views.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/view/summary.hpp"

namespace hpo {

/// Fills in the pools of `moment`, the reason why a trial waits and the predicted ends, from the entry of process `pid`
/// of this machine for `study` in the session registry. Leaves them empty if the session is not registered.
void add_pools(view::Moment& moment, const std::string& study, std::int64_t pid);

}  // namespace hpo
