#include "os/descriptors.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

namespace hpo::os {

namespace {

void prepare(int descriptor, Calls calls) {
    (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    // A connection inherits this from its listener, on which it may be set.
    const int flags = ::fcntl(descriptor, F_GETFL);
    (void)::fcntl(descriptor, F_SETFL, calls == Calls::wait ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

Descriptor prepared(int socket, Calls calls) {
    if (socket >= 0) prepare(socket, calls);
    return Descriptor(socket);
}

Pair pair_of(int type, Calls calls) {
    int ends[2];
    if (::socketpair(AF_UNIX, type, 0, ends) != 0) return {};
    return {prepared(ends[0], calls), prepared(ends[1], calls)};
}

}  // namespace

Descriptor open_socket(int family, int type, Calls calls) { return prepared(::socket(family, type, 0), calls); }

Descriptor accept_connection(int listener, Calls calls) {
    return prepared(::accept(listener, nullptr, nullptr), calls);
}

Pair stream_pair(Calls calls) { return pair_of(SOCK_STREAM, calls); }

/// Local sockets have no SOCK_SEQPACKET here. Datagrams between two local sockets are not lost; their buffers, of 2 KiB
/// otherwise, limit their size.
Pair message_pair() {
    Pair pair = pair_of(SOCK_DGRAM, Calls::wait);
    constexpr int bytes = 1 << 18;
    for (const Descriptor* end : {&pair.one, &pair.other})
        for (const int buffer : {SO_SNDBUF, SO_RCVBUF})
            if (pair) (void)::setsockopt(end->get(), SOL_SOCKET, buffer, &bytes, sizeof bytes);
    return pair;
}

bool open_pipe(int (&ends)[2], Calls calls) {
    if (::pipe(ends) != 0) return false;
    for (const int end : ends) prepare(end, calls);
    return true;
}

pid_t peer_of(int socket) {
    pid_t pid = 0;
    socklen_t size = sizeof pid;
    return ::getsockopt(socket, SOL_LOCAL, LOCAL_PEERPID, &pid, &size) == 0 ? pid : 0;
}

void limit_unconfirmed(int socket, int milliseconds) {
    const int seconds = (milliseconds + 999) / 1000;
    (void)::setsockopt(socket, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, &seconds, sizeof seconds);
}

}  // namespace hpo::os
