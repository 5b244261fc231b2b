#include "os/descriptors.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hpo::os {

namespace {

int socket_flags(Calls calls) { return SOCK_CLOEXEC | (calls == Calls::wait ? 0 : SOCK_NONBLOCK); }

Pair pair_of(int type) {
    int ends[2];
    if (::socketpair(AF_UNIX, type, 0, ends) != 0) return {};
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

Descriptor open_socket(int family, int type, Calls calls) {
    return Descriptor(::socket(family, type | socket_flags(calls), 0));
}

Descriptor accept_connection(int listener, Calls calls) {
    return Descriptor(::accept4(listener, nullptr, nullptr, socket_flags(calls)));
}

Pair stream_pair(Calls calls) { return pair_of(SOCK_STREAM | socket_flags(calls)); }

Pair message_pair() { return pair_of(SOCK_SEQPACKET | SOCK_CLOEXEC); }

bool open_pipe(int (&ends)[2], Calls calls) {
    return ::pipe2(ends, O_CLOEXEC | (calls == Calls::wait ? 0 : O_NONBLOCK)) == 0;
}

pid_t peer_of(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 ? credentials.pid : 0;
}

void limit_unconfirmed(int socket, int milliseconds) {
    (void)::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

}  // namespace hpo::os
