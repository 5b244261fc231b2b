// Sends bytes on a blocking socket.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <string_view>

#include "hpo/shortage.hpp"

namespace hpo {

/// Sends all bytes on a blocking socket, and waits out shortages of the kernel for up to a minute. Returns false, with
/// errno, if the peer is gone or the shortage lasts; then a part may have been sent.
inline bool send_all(int socket, std::string_view bytes) {
    ShortageWait shortage;
    while (!bytes.empty()) {
        const ssize_t size = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size < 0) {
            if (!shortage.try_again_after(errno)) return false;
            continue;
        }
        shortage.over();
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

}  // namespace hpo
