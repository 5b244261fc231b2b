#include "orchestrator/execution/signal_queue.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

bool readable(int descriptor) {
    pollfd ready{descriptor, POLLIN, 0};
    return ::poll(&ready, 1, 0) == 1;
}

TEST(SignalQueue, EachSignalArrivesOnceAndWakesAPoll) {
    SignalQueue queue{SIGTERM, SIGUSR1};
    EXPECT_FALSE(readable(queue.descriptor()));
    for (int i = 0; i < 3; ++i) ::raise(SIGTERM);
    ::raise(SIGUSR1);
    EXPECT_TRUE(readable(queue.descriptor()));
    EXPECT_THAT(queue.take(), UnorderedElementsAre(SIGTERM, SIGUSR1));
    EXPECT_FALSE(readable(queue.descriptor()));
    EXPECT_THAT(queue.take(), IsEmpty());
    ::raise(SIGUSR1);
    EXPECT_THAT(queue.take(), ElementsAre(SIGUSR1));
}

TEST(SignalQueue, ManyUnreadSignalsHideNoOther) {
    SignalQueue queue{SIGTERM, SIGUSR1};
    for (int i = 0; i < 200'000; ++i) ::raise(SIGUSR1);  // more than a pipe holds
    ::raise(SIGTERM);
    EXPECT_THAT(queue.take(), UnorderedElementsAre(SIGTERM, SIGUSR1));
}

TEST(SignalQueue, ABlockedSignalIsReceivedAndMaskAndActionsAreRestored) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    ::raise(SIGUSR1);
    {
        SignalQueue queue{SIGUSR1};
        EXPECT_THAT(queue.take(), ElementsAre(SIGUSR1));
    }
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, &before, &after);
    EXPECT_EQ(::sigismember(&after, SIGUSR1), 1);
    struct sigaction action {};
    ::sigaction(SIGUSR1, nullptr, &action);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(SignalQueue, ASignalThatNobodyHasTakenIsRaisedAgain) {
    sigset_t blocked, before, pending;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    for (const bool arrives : {true, false}) {
        {
            SignalQueue queue{SIGUSR1};
            if (arrives) ::raise(SIGUSR1);
        }
        ::sigpending(&pending);
        EXPECT_EQ(::sigismember(&pending, SIGUSR1), arrives ? 1 : 0);
        ::signal(SIGUSR1, SIG_IGN);  // discards it
        ::signal(SIGUSR1, SIG_DFL);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(SignalQueue, ABlockedSignalNeverMeetsTheActionFromBefore) {
    const pid_t child = ::fork();
    if (child == 0) {
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
        const pid_t receiver = ::getpid(), sender = ::fork();
        if (sender == 0)
            for (int i = 1;; ++i)
                if (::getppid() != receiver || (i % 64 == 0 && ::kill(receiver, SIGUSR1) != 0)) ::_exit(0);
        for (std::size_t received = 0; received < 300;) received += SignalQueue{SIGUSR1}.take().size();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "ended by signal " << WTERMSIG(status);
}

TEST(SignalQueue, AnIgnoredHangUpStaysIgnoredAndOtherIgnoredSignalsAreReceived) {
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::signal(signal, SIG_IGN);
    {
        SignalQueue queue{SIGHUP, SIGINT, SIGTERM};
        for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::raise(signal);
        EXPECT_THAT(queue.take(), UnorderedElementsAre(SIGINT, SIGTERM));
    }
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) EXPECT_EQ(::signal(signal, SIG_DFL), SIG_IGN) << signal;
}

TEST(SignalQueue, TheEndOfAChildIsReceivedWhereItWasIgnored) {
    ::signal(SIGCHLD, SIG_IGN);
    {
        SignalQueue queue{SIGCHLD};
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child) << "an ignored SIGCHLD would leave nothing to wait for";
        EXPECT_THAT(queue.take(), ElementsAre(SIGCHLD));
    }
    ::signal(SIGCHLD, SIG_DFL);
}

TEST(SignalQueue, WithoutDescriptorsItIsEmptyAndTakesNoSignal) {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    SignalQueue queue{SIGUSR1};
    const int error = errno;
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_FALSE(queue);
    EXPECT_EQ(error, EMFILE);
    struct sigaction action {};
    ::sigaction(SIGUSR1, nullptr, &action);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace hpo
