// Sandboxes in which the kernel refuses calls that hpo can do without.
#pragma once

#include <vector>

namespace hpo::testing_execution {

/// The variable of the environment with which this program refuses itself the calls of orchestrator/execution/linux/.
inline constexpr const char* refused_variable = "HPO_TEST_REFUSED";

/// From now on the system calls with these numbers fail with ENOSYS, and prctl() with these options fails with EINVAL,
/// in this process and in all that it starts.
void refuse_calls(const std::vector<int>& calls, const std::vector<int>& prctl_options = {});

/// Refuses sub-reapers, death signals, handles of processes and the closing of ranges of descriptors.
void refuse_all_but_posix();

/// Returns true if orphans below this process become its children, which the system may refuse.
bool adopts_orphans();

}  // namespace hpo::testing_execution
