#include "hpo/end_with_peer.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>

#include "hpo/descriptor.hpp"

namespace hpo {
namespace {

/// Starts a process that hangs, with the given end of a connection, whose other end is closed there.
pid_t hanging(const Descriptor& own, Descriptor& other) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    other.reset();
    end_with_peer(own.get());
    for (;;) ::pause();
}

int status_of(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(EndWithPeer, AProcessThatHangsEndsWhenTheOtherEndOfItsSocketIsClosed) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    Descriptor own(ends[0]), other(ends[1]);
    const pid_t child = hanging(own, other);
    EXPECT_EQ(::send(other.get(), "x", 1, 0), 1) << "data are no end";
    EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
    other.reset();
    EXPECT_EQ(status_of(child), 1);
}

TEST(EndWithPeer, AProcessThatHangsEndsWhenNobodyReadsItsPipeFromTheBeginningOrLater) {
    for (const bool at_once : {true, false}) {
        Descriptor reader, writer;
        ASSERT_TRUE(make_pipe(reader, writer));
        if (at_once) reader.reset();
        const pid_t child = hanging(writer, reader);
        reader.reset();
        EXPECT_EQ(status_of(child), 1);
    }
}

}  // namespace
}  // namespace hpo
