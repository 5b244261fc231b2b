#include "orchestrator/execution/process_table.hpp"

namespace hpo {

pid_t worker_process(pid_t reported, pid_t peer, pid_t orchestrator) {
    if (peer <= 0) return reported;
    for (pid_t pid = peer, parent; pid > 1; pid = parent) {
        parent = parent_of(pid);
        if (parent == orchestrator) break;  // its supervisor
        if (pid == reported) return reported;
    }
    return peer;
}

}  // namespace hpo
