#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "hpo/signal_name.hpp"
#include "os/descriptors.hpp"
#include "os/files.hpp"
#include "os/process.hpp"
#include "os/readiness.hpp"

namespace hpo::os {
namespace {

bool closes_at_exec(const Descriptor& one) { return (::fcntl(one.get(), F_GETFD) & FD_CLOEXEC) != 0; }
bool waits(const Descriptor& one) { return (::fcntl(one.get(), F_GETFL) & O_NONBLOCK) == 0; }

TEST(OsDescriptors, CloseAtExecAndWaitAsAskedFor) {
    for (const Calls calls : {Calls::wait, Calls::return_at_once}) {
        const Descriptor listener = open_socket(AF_INET, SOCK_STREAM, calls);
        const Pair pair = stream_pair(calls);
        int ends[2];
        ASSERT_TRUE(open_pipe(ends, calls));
        const Descriptor read_end(ends[0]), write_end(ends[1]);
        for (const Descriptor* one : {&listener, &pair.one, &pair.other, &read_end, &write_end}) {
            EXPECT_TRUE(closes_at_exec(*one));
            EXPECT_EQ(waits(*one), calls == Calls::wait);
        }
    }
}

TEST(OsDescriptors, AnAcceptedConnectionWaitsAsAskedForWhateverItsListenerDoes) {
    const Descriptor listener = open_socket(AF_INET, SOCK_STREAM, Calls::return_at_once);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener.get(), 2), 0);
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    for (const Calls calls : {Calls::wait, Calls::return_at_once}) {
        const Descriptor client = open_socket(AF_INET, SOCK_STREAM);
        ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        pollfd ready{listener.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&ready, 1, -1), 1);
        const Descriptor accepted = accept_connection(listener.get(), calls);
        ASSERT_TRUE(accepted);
        EXPECT_TRUE(closes_at_exec(accepted));
        EXPECT_EQ(waits(accepted), calls == Calls::wait);
    }
    EXPECT_FALSE(accept_connection(listener.get()));
    EXPECT_EQ(errno, EAGAIN);
}

TEST(OsDescriptors, AMessagePairKeepsTheLimitsOfMessagesAndTellsTheEnd) {
    Pair pair = message_pair();
    ASSERT_TRUE(pair);
    const std::string large(100'000, 'x');
    ASSERT_EQ(::send(pair.one.get(), large.data(), large.size(), 0), static_cast<ssize_t>(large.size()));
    ASSERT_EQ(::send(pair.one.get(), "ab", 2, 0), 2);
    pair.one.reset();
    std::string buffer(1 << 18, '\0');
    EXPECT_EQ(::recv(pair.other.get(), buffer.data(), buffer.size(), 0), static_cast<ssize_t>(large.size()));
    EXPECT_EQ(::recv(pair.other.get(), buffer.data(), buffer.size(), 0), 2);
    EXPECT_LE(::recv(pair.other.get(), buffer.data(), buffer.size(), 0), 0);
}

TEST(OsDescriptors, KnowThePeer) {
    const Pair pair = stream_pair();
    EXPECT_EQ(peer_of(pair.one.get()), ::getpid());
    EXPECT_EQ(peer_of(-1), 0);
}

TEST(OsFiles, WithoutANameKeepWhatIsWritten) {
    const Descriptor file = temporary_file("test");
    ASSERT_TRUE(file);
    EXPECT_TRUE(closes_at_exec(file));
    ASSERT_EQ(::pwrite(file.get(), "abc", 3, 0), 3);
    EXPECT_EQ(make_durable(file.get()), 0);
    char read[4] = {};
    EXPECT_EQ(::pread(file.get(), read, 3, 0), 3);
    EXPECT_STREQ(read, "abc");
}

TEST(OsFiles, SharedMemoryIsSharedWithAForkedProcess) {
    const Descriptor memory = shared_memory("test");
    ASSERT_TRUE(memory);
    ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
    auto* bytes =
        static_cast<volatile char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
    ASSERT_NE(bytes, MAP_FAILED);
    const pid_t child = ::fork();
    if (child == 0) {
        bytes[7] = 'x';
        ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(bytes[7], 'x');
    ::munmap(const_cast<char*>(bytes), 4096);
}

TEST(OsReadiness, NamesReadableDescriptorsWithoutWaiting) {
    const Readiness readiness;
    ASSERT_TRUE(readiness);
    Pair first = stream_pair(), second = stream_pair();
    ASSERT_TRUE(readiness.add(first.one.get(), 1));
    ASSERT_TRUE(readiness.add(second.one.get(), 2));
    EXPECT_FALSE(readiness.add(-1));
    EXPECT_TRUE(readiness.ready().empty());
    ASSERT_EQ(::send(second.other.get(), "x", 1, 0), 1);
    EXPECT_EQ(readiness.ready(), std::vector<std::uint64_t>{2});
    pollfd whole{readiness.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&whole, 1, 0), 1);
    second.one.reset();
    EXPECT_TRUE(readiness.ready().empty());
}

TEST(OsProcess, KnowsItsProgramAndStartsItAgain) {
    const auto file = own_program_file();
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(std::filesystem::equivalent(*file, own_program()));
}

TEST(OsProcess, NamesSignals) {
    EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
    EXPECT_EQ(signal_name(SIGUSR2), "SIGUSR2");
    EXPECT_EQ(signal_name(0), "signal 0");
}

TEST(OsProcess, BindsAThreadToSomeOfItsCores) {
    const std::vector<int> all = allowed_cores();
    if (all.empty()) GTEST_SKIP() << "this system does not bind threads";
    bind_to_cores({&all.back(), 1});
    EXPECT_EQ(allowed_cores(), std::vector<int>{all.back()});
    bind_to_cores(all);
    EXPECT_EQ(allowed_cores(), all);
}

TEST(OsProcess, CountsResidentMemoryInBytes) {
    rusage usage{};
    ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
    EXPECT_GT(largest_resident(usage), std::int64_t{1} << 20);
    EXPECT_LT(largest_resident(usage), std::int64_t{1} << 36);
}

TEST(OsProcess, ResetsIgnoredSignals) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGTERM, SIG_IGN);
        reset_signal_actions();
        ::raise(SIGTERM);
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

}  // namespace
}  // namespace hpo::os
