#include "orchestrator/execution/interrupts.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "hpo/interrupted.hpp"

namespace hpo {
namespace {

using std::chrono::milliseconds;

/// Runs a function in a child process. Returns its exit status, or -1 if it died of a signal.
template <class F>
int status_of(F&& act) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(act());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Interrupts, AreKnownAtOnceAndHandledInTheLoop) {
    EXPECT_EQ(status_of([] {
                  boost::asio::io_context loop;
                  int received = 0;
                  const Interrupts interrupts(loop, [&](int signal) { received = signal; });
                  ::raise(SIGTERM);
                  const bool known = interrupted_by == SIGTERM && received == 0;
                  loop.run_one();
                  return known && received == SIGTERM ? 0 : 1;
              }),
              0);
}

TEST(Interrupts, TheSecondEndsTheProcessEvenIfItsLoopIsBlocked) {
    for (const int second : {SIGINT, SIGTERM})
        EXPECT_EQ(status_of([&]() -> int {
                      boost::asio::io_context loop;
                      const Interrupts interrupts(
                          loop, [](int) {}, milliseconds(10));
                      ::raise(SIGINT);
                      ::raise(second);
                      for (;;) ::pause();
                  }),
                  130);
}

TEST(Interrupts, OneInterruptAndAHangUpDoNotEndTheProcess) {
    EXPECT_EQ(status_of([] {
                  boost::asio::io_context loop;
                  const Interrupts interrupts(
                      loop, [](int) {}, milliseconds(1));
                  ::signal(SIGALRM, [](int) { ::_exit(9); });
                  ::raise(SIGINT);
                  if (!interrupts.outlives_terminal()) ::raise(SIGHUP);
                  ::usleep(20'000);
                  return 7;
              }),
              7);
}

TEST(Interrupts, UnderNohupAHangUpIsIgnored) {
    EXPECT_EQ(status_of([] {
                  ::signal(SIGHUP, SIG_IGN);
                  boost::asio::io_context loop;
                  const Interrupts interrupts(loop, [](int) {});
                  ::raise(SIGHUP);
                  return interrupts.outlives_terminal() && interrupted_by == 0 ? 0 : 1;
              }),
              0);
}

}  // namespace
}  // namespace hpo
