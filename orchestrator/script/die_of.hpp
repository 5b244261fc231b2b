#pragma once

namespace hpo::script {

/// Ends this process by the signal that ended its child, without a core file, so that its parent sees the same death.
[[noreturn]] void die_of(int signal);

}  // namespace hpo::script
