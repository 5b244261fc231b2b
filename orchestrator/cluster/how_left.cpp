#include "orchestrator/cluster/how_left.hpp"

#include <sys/wait.h>

#include <csignal>

#include "hpo/interrupted.hpp"
#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/engine/text.hpp"

namespace hpo::cluster {

HowLeft how_left(const std::string& study, int child, int left, const std::optional<Farewell>& farewell,
                 const std::string& again) {
    // The orchestrator may have said farewell after the agent had given it up.
    if (WIFEXITED(child) && WEXITSTATUS(child) == agent_heard_nothing)
        return {1, "the orchestrator of " + study +
                       " was silent for 25 s, so that this agent has ended; where it goes on, " + again +
                       " joins it again"};
    if (WIFEXITED(child) && WEXITSTATUS(child) != 0) return {WEXITSTATUS(child), ""};
    // Kubernetes takes a pod that ends with 0 for one whose work is done, also where it has asked the pod to end.
    const bool goes_on = !farewell || farewell->end == SessionEnd::none;
    if (left == SIGTERM && goes_on) return {exit_status_of(left), ""};
    if (left != 0) return {};
    if (WIFSIGNALED(child)) return {1, "its agent died of " + signal_name(WTERMSIG(child))};
    if (!farewell) return {1, "its agent was asked to end, while " + study + " goes on; " + again + " joins it again"};
    const std::string why = farewell->reason.empty() ? "" : ": " + farewell->reason;
    switch (farewell->end) {
        case SessionEnd::finished:
        case SessionEnd::out_of_time:
            return {0, study + " has ended" + why};
        case SessionEnd::interrupted:
        case SessionEnd::at_limit:
            return {0, study + " was interrupted" + (farewell->reason == "interrupted" ? "" : why) +
                           "; when hpo run goes on with it, " + again + " joins it again"};
        case SessionEnd::failed:
            return {1, study + " has failed" + why};
        case SessionEnd::none:
            break;
    }
    return {1, "the orchestrator of " + study + " has given this agent up; " + again + " joins it again"};
}

}  // namespace hpo::cluster
