// Calls of the system about other processes beyond POSIX. linux/ has those of Linux, which a sandbox or an emulator may
// refuse; posix/ does without them. Callers do without a refused call, at a price that docs/guarantees.md tells. This
// is the only file of the part whose functions differ between systems.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "hpo/descriptor.hpp"

namespace hpo::system {

/// Makes this process the parent of the orphans among its descendants, a sub-reaper. Returns false where there are
/// none.
bool adopt_orphans();

/// Makes the kernel kill this process when its parent ends. Returns false where it does not. A parent that has ended
/// before is for the caller to notice.
bool die_with_parent();

/// Returns a handle by which signals reach this process and never a later one with its pid (a pidfd), and which becomes
/// readable when the process ends. It is empty, with errno ESRCH, if there is no such process, and with another errno
/// where there are no handles.
Descriptor open_process(pid_t pid);

/// Sends the signal to the process. Returns false, with errno, if it was not sent.
bool signal_process(const Descriptor& handle, int signal);

/// Marks the descriptors from `first` on to be closed at exec. Returns false if the system has no call for that.
bool close_at_exec_from(int first);

/// Closes the descriptors from `first` on. Returns false if the system has no call for that.
bool close_from(int first);

/// Makes the alarm clock of this process, which rings by SIGALRM. Returns false, with errno, on failure.
bool make_alarm();
/// May be called by a handler of signals.
void ring_alarm_in(std::chrono::milliseconds time);
void remove_alarm();

}  // namespace hpo::system
