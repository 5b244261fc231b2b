// Network connections of a program that this process has started, such as srun, without the delay of small messages.
#pragma once

#include <sys/types.h>

namespace hpo::cluster {

/// Sets TCP_NODELAY on the TCP sockets of a child of this process, which have it or not for the child, too. Returns
/// how many there are; 0 also where the kernel or the site does not allow it (pidfd_getfd, as a debugger may use it).
int send_without_delay(pid_t child);

}  // namespace hpo::cluster
