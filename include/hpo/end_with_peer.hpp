// Ends a helper process with the process that it serves.
#pragma once

#include <poll.h>
#include <unistd.h>

#include "hpo/threads.hpp"

namespace hpo {

/// Ends this process from now on, with status 1, when the other end of the socket or pipe is closed, as when the
/// process there ends, whatever else this one is doing: a library may hang. Does nothing if no thread can be started
/// for that. The helper for devices has the system's death signal as well.
inline void end_with_peer(int descriptor) {
    const auto is_closed = [descriptor](int milliseconds) {
        pollfd end{descriptor, 0, 0};  // poll() tells the end of the other side in any case
        return ::poll(&end, 1, milliseconds) == 1 && (end.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    };
    if (is_closed(0)) ::_exit(1);  // this process may have nothing left to do when the thread first looks
    std::thread watch = start_thread("hpo-peer", [is_closed] {
        while (!is_closed(-1)) {
        }
        ::_exit(1);
    });
    if (watch.joinable()) watch.detach();
}

}  // namespace hpo
