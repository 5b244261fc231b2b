// Bytes reach the peer, also if the kernel refuses some calls.
#include "hpo/send_all.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "tests/support/refused_sockets.hpp"

namespace hpo {
namespace {

struct Pair {
    Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
    ~Pair() {
        for (const int end : ends) ::close(end);
    }
    int ends[2] = {-1, -1};
};

TEST(SendAll, WaitsOutAShortageOfTheKernel) {
    for (const int error : {ENOBUFS, ENOMEM, EINTR, EAGAIN}) {
        const Pair pair;
        {
            const testing::RefusedSends refused(error, 3);
            EXPECT_TRUE(send_all(pair.ends[0], "a message\n"));
            EXPECT_EQ(testing::RefusedSends::left(), 0);
        }
        std::string got(64, ' ');
        got.resize(static_cast<std::size_t>(::recv(pair.ends[1], got.data(), got.size(), MSG_DONTWAIT)));
        EXPECT_EQ(got, "a message\n");
    }
}

TEST(SendAll, TellsThatThePeerIsGone) {
    Pair pair;
    ::shutdown(pair.ends[1], SHUT_RDWR);
    EXPECT_FALSE(send_all(pair.ends[0], "a message\n"));
    EXPECT_EQ(errno, EPIPE);
    const testing::RefusedSends refused(ECONNRESET, 1);
    EXPECT_FALSE(send_all(pair.ends[0], "a message\n"));
}

}  // namespace
}  // namespace hpo
