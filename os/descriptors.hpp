// Sockets that close at exec. Linux makes them so in one call. macOS needs a second one, so that a process
// that another thread forks between the two calls and that executes a program has the descriptor too.
#pragma once

#include <sys/types.h>

#include "hpo/descriptor.hpp"
#include "os/pipe.hpp"

namespace hpo::os {

/// Opens a socket. Empty, with errno, on failure.
Descriptor open_socket(int family, int type, Calls calls = Calls::wait);

/// Accepts a connection. Empty, with errno, on failure.
Descriptor accept_connection(int listener, Calls calls = Calls::wait);

struct Pair {
    Descriptor one, other;
    explicit operator bool() const { return one && other; }
};

/// Makes two connected streams of bytes. Empty, with errno, on failure.
Pair stream_pair(Calls calls = Calls::wait);

/// Makes two connected sockets that keep the limits of messages, of up to 256 KiB. When one end is closed, recv() at
/// the other returns 0 or fails, after the messages that were sent before. Empty, with errno, on failure.
Pair message_pair();

/// Returns the process that has connected the other end of a local socket; 0 if the system does not tell.
pid_t peer_of(int socket);

/// Makes a TCP connection fail when sent data is unconfirmed for this long; macOS rounds up to seconds.
void limit_unconfirmed(int socket, int milliseconds);

}  // namespace hpo::os
