// The orchestrator's end of an agent's pipes: the messages that it writes at once, and its answers.
#include "orchestrator/cluster/agent_link.hpp"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "hpo/version.hpp"
#include "orchestrator/cluster/codec.hpp"
#include "orchestrator/cluster/undelayed.hpp"

namespace hpo::cluster {
namespace {

AgentLink::Callbacks nothing() {
    return {[](FromAgent&&) {}, [](const std::string&, AgentEnd) {}};
}

TEST(AgentLink, WritesAllMessagesOfARoundAtOnce) {
    boost::asio::io_context loop;
    int orders[2], events[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, orders), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, events), 0);
    const Descriptor far(orders[1]), agent(events[1]);
    const auto link = std::make_shared<AgentLink>(loop, nothing());
    link->adopt(Descriptor(orders[0]), Descriptor(events[0]));
    char packet[4096];
    ASSERT_GT(::recv(far.get(), packet, sizeof packet, 0), 0) << "the opening";
    loop.poll();
    link->send(to_agent::LogTo{3, "log"});
    link->send(to_agent::Kill{3});
    loop.poll();
    const auto size = ::recv(far.get(), packet, sizeof packet, 0);
    ASSERT_GT(size, 0);
    EXPECT_EQ(std::string(packet, static_cast<std::size_t>(size)),
              encode(ToAgent(to_agent::LogTo{3, "log"})) + encode(ToAgent(to_agent::Kill{3})));
    link->close();
}

bool is_undelayed(int socket) {
    int on = 0;
    socklen_t size = sizeof on;
    EXPECT_EQ(::getsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
    return on != 0;
}

/// Returns true if this process may have a copy of a descriptor of the other one.
bool may_have_those_of(pid_t other) {
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, other, 0)));
    return Descriptor(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), STDIN_FILENO, 0))).get() >= 0;
}

TEST(SendWithoutDelay, ReachesTheTcpSocketsOfAChild) {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_FALSE(is_undelayed(socket.get()));
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const bool allowed = may_have_those_of(child);
    EXPECT_EQ(send_without_delay(child) > 0, allowed);
    EXPECT_EQ(is_undelayed(socket.get()), allowed) << "the child has the same socket";
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(send_without_delay(child), 0) << "it is gone";
}

/// A program in place of srun, which sends an agent's notice and keeps the bytes that it gets.
class FalseSrun : public ::testing::Test {
   protected:
    FalseSrun() {
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "events", std::ios::binary)
            << encode(Opening{stream_version, version}) << encode(FromAgent(from_agent::Notice{false, "hello"}));
        std::ofstream(folder_ / "srun") << "#!/bin/sh\ncat " << (folder_ / "events") << "\nexec 3>&1\nexec cat >"
                                        << (folder_ / "orders") << '\n';
        std::filesystem::permissions(folder_ / "srun", std::filesystem::perms::owner_all);
        ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    }
    ~FalseSrun() override {
        ::setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] std::string orders() const {
        std::ifstream in(folder_ / "orders", std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    const std::string path_ = std::getenv("PATH");
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("hpo-false-srun-" + std::to_string(::getpid()));
};

TEST_F(FalseSrun, IsAnsweredAlsoWhereNoOrderFollows) {
    boost::asio::io_context loop;
    const auto link = std::make_shared<AgentLink>(loop, nothing());
    ASSERT_EQ(link->start({"srun"}), 0);
    const std::string opening = encode(Opening{stream_version, version});
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (orders().size() <= opening.size() && std::chrono::steady_clock::now() < until)
        loop.run_for(std::chrono::milliseconds(10));
    EXPECT_EQ(orders(), opening + encode(ToAgent(to_agent::Heartbeat{})));
    link->close();
    link->destroy();
    link->wait(std::chrono::steady_clock::now() + std::chrono::seconds(10));
}

}  // namespace
}  // namespace hpo::cluster
