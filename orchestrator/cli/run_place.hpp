// Chooses where `hpo run` runs the trials of a study: on this machine, on several hosts, or in a job of Slurm that it
// submits.
#pragma once

#include <optional>
#include <vector>

#include "orchestrator/cli/run_arguments.hpp"
#include "orchestrator/cluster/addresses.hpp"
#include "orchestrator/cluster/listen_at.hpp"
#include "orchestrator/engine/runner.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo {

struct RunPlace {
    bool in_a_job = false;                      ///< a job that is submitted and followed
    std::vector<cluster::Address> hosts = {};   ///< empty: this machine, or none but those that join
    std::optional<cluster::ListenAt> listen{};  ///< address where agents may join the session; absent: they may not

    /// Returns true if this process runs the trials on this machine alone.
    [[nodiscard]] bool here() const { return !in_a_job && hosts.empty() && !listen; }
};

/// Reads --on, --listen and the study's resources. Throws Fatal if they cannot be read.
RunPlace place_of(const RunArguments& arguments, const Study& study, const Programs& programs);

/// Returns the study as it runs there. Throws Fatal if it cannot run on several hosts.
Study adapted_to(const RunPlace& place, Study study);

/// Runs the study there to the end of the session. `accepted` decides whether a stored study may continue as this one.
Result<RunOutcome> run_there(const RunPlace& place, const RunArguments& arguments, const Study& study,
                             const StudyFolder& folder, const Programs& programs, RunObserver& observer,
                             const Acceptance& accepted);

}  // namespace hpo
