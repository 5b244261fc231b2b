// Sends bytes on a blocking socket.
#pragma once

#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <chrono>
#include <string_view>

#include "hpo/shortage.hpp"

namespace hpo {

/// Sends all bytes on a blocking socket, and waits out shortages of the kernel for up to a minute. Returns false, with
/// errno, if the peer is gone or the shortage lasts; then a part may have been sent.
inline bool send_all(int socket, std::string_view bytes) {
    constexpr std::chrono::seconds longest_shortage{60};
    constexpr timespec pause{0, 10'000'000};
    const auto begun = std::chrono::steady_clock::now();
    while (!bytes.empty()) {
        const ssize_t size = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(size));
        } else if (errno != EINTR) {
            const int error = errno;
            if (!is_shortage(error) || std::chrono::steady_clock::now() - begun > longest_shortage) return false;
            ::nanosleep(&pause, nullptr);
            errno = error;
        }
    }
    return true;
}

}  // namespace hpo
