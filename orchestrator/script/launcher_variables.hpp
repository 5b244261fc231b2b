// The variables by which a launcher (srun, mpirun) tells a process its place among others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

/// Returns those of the variables' names that a launcher sets for each of its tasks: ranks, numbers of tasks, and where
/// the launcher is reached. Variables that describe a job (SLURM_JOB_ID), those of torchrun (RANK), and the settings of
/// an MPI by which no process was launched are none of them.
std::vector<std::string> of_launcher(const std::vector<std::string_view>& names);

/// Removes these variables from the environment of this process. A trial would otherwise take itself for the task of
/// `srun` or `mpirun` that hpo is, and wait for the other tasks. To be called before other threads start.
void leave_launcher();

}  // namespace hpo::script
