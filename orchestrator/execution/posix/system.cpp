#include "orchestrator/execution/system.hpp"

#include <cerrno>

namespace hpo::system {

bool adopt_orphans() { return false; }

void die_with_parent() {}

Descriptor open_process(pid_t) {
    errno = ENOSYS;
    return {};
}

bool signal_process(const Descriptor&, int) {
    errno = ENOSYS;
    return false;
}

bool close_at_exec_from(int) { return false; }

}  // namespace hpo::system
