// Reads the table of processes: from /proc on Linux, by sysctl and libproc on macOS. Besides this file, adoptions.cpp
// reads in /proc which program a process runs, and own_threads.cpp the threads of this one; both read nothing on macOS.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hpo {

/// Returns all processes, the one with the highest pid first, which mostly is the newest.
std::vector<pid_t> all_processes();

/// Returns the parent of the process; 0 if it is gone.
pid_t parent_of(pid_t pid);

/// Returns the processes whose parent is `parent`, including zombies.
std::vector<pid_t> children_of(pid_t parent);

/// Returns true for a process that has ended and that its parent has not waited for, and for one that is gone.
bool has_ended(pid_t pid);

/// Returns the variables that the process was started with, each followed by a NUL. Empty if they cannot be read, as
/// those of another user's process, of a zombie, and of a process in the middle of exec. macOS hides those of its own
/// programs, such as /bin/sh, too.
std::string environment_of(pid_t pid);

/// Returns the command and its arguments, each followed by a NUL; empty if they cannot be read.
std::string command_line_of(pid_t pid);

/// Returns when the process was started, in ticks of the system or in microseconds, which tells it from a later one
/// with its pid; empty if it is gone.
std::string start_of(pid_t pid);

/// Returns the process at which measuring of a worker's memory starts. `reported` is the pid that the worker has sent.
/// It is used if it is `peer`, which holds the socket, or an ancestor of `peer` below the supervisor (a child of
/// `orchestrator`). Otherwise `peer` is used: in a pid namespace a worker does not know its pid. With `peer` 0 (not
/// known) `reported` is used.
pid_t worker_process(pid_t reported, pid_t peer, pid_t orchestrator);

/// Returns the seconds of processor time that the descendants of `root` have used, including children that they have
/// waited for; `root` itself does not count. The figure shrinks when a process ends without being waited for. Where the
/// kernel lists children (CONFIG_PROC_CHILDREN), only the tree is read, not all of /proc.
double processor_seconds_below(pid_t root);

/// Returns how many processes of the whole machine the kernel has killed for want of memory so far; 0 if it does not
/// tell.
long long out_of_memory_kills();

}  // namespace hpo
