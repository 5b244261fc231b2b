// The answers of a process to SIGQUIT, each in a process of its own.
#include "orchestrator/execution/questions.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "hpo/doing.hpp"
#include "orchestrator/execution/interrupts.hpp"
#include "orchestrator/execution/own_threads.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Said {
    int status = -1;     ///< exit status; -1: it died of a signal
    std::string stderr;  ///< its standard error
};

/// Runs a function in a child process.
template <class F>
Said said_by(F&& act) {
    Descriptor read_end, write_end;
    EXPECT_TRUE(make_pipe(read_end, write_end));
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(write_end.get(), STDERR_FILENO);
        ::_exit(act());
    }
    write_end.reset();
    Said said;
    char buffer[1024];
    for (ssize_t size; (size = ::read(read_end.get(), buffer, sizeof buffer)) > 0;)
        said.stderr.append(buffer, static_cast<std::size_t>(size));
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) said.status = WEXITSTATUS(status);
    return said;
}

TEST(QuestionsTest, AreAnsweredByTheLoopOnceForAllThatWereAskedMeanwhile) {
    const Said said = said_by([] {
        boost::asio::io_context loop;
        int answers = 0;
        Questions questions;
        const Questions::Listener listener(questions, loop, [&] { ++answers; });
        ::raise(SIGQUIT);
        ::raise(SIGQUIT);
        loop.run_one();
        if (answers != 1) return 1;
        ::raise(SIGQUIT);
        loop.run_one();
        return answers == 2 ? 0 : 2;
    });
    EXPECT_EQ(said.status, 0);
    EXPECT_THAT(said.stderr, Mentions("loop", "0.")) << "the second was asked before";
}

TEST(QuestionsTest, AreAnsweredAtOnceWithWhatKeepsTheProcessFromItsLoop) {
    const Said said = said_by([] {
        boost::asio::io_context loop;
        Questions questions;
        const Questions::Listener listener(questions, loop, [] {});
        const Doing outer("writes to the disk");
        {
            const Doing inner("waits for a lock", monotonic_ms() - 12'345);
            ::raise(SIGQUIT);
        }
        ::raise(SIGQUIT);
        return 0;
    });
    EXPECT_EQ(said.status, 0);
    EXPECT_THAT(said.stderr, AllOf(StartsWith("hpo: "), Mentions("lock", "12.3 s"), Mentions("hpo: ", "disk", "0.")));
}

TEST(QuestionsTest, BeforeThereIsALoopTheProcessSaysSo) {
    const Said said = said_by([] {
        ::signal(SIGQUIT, SIG_IGN);  // as a shell without job control starts it
        const Questions questions;
        ::raise(SIGQUIT);
        return 0;
    });
    EXPECT_EQ(said.status, 0);
    EXPECT_EQ(said.stderr, "hpo: computes, and waits for nothing\n");
}

TEST(QuestionsTest, AReaderThatDoesNotReadHoldsNobodyUp) {
    const Said said = said_by([] {
        const Questions questions;
        Descriptor read_end, write_end;
        if (!make_pipe(read_end, write_end)) return 1;
        ::dup2(write_end.get(), STDERR_FILENO);
        for (int n = 0; n < 3000; ++n) ::raise(SIGQUIT);
        return 0;
    });
    EXPECT_EQ(said.status, 0);
}

TEST(HeedInterruptsTest, AnInterruptBeforeTheLoopEndsAProcessThatWasStartedWithItIgnored) {
    for (const int number : {SIGINT, SIGTERM})
        EXPECT_EQ(said_by([&] {
                      ::signal(number, SIG_IGN);
                      heed_interrupts();
                      ::raise(number);
                      return 0;
                  }).status,
                  -1);
}

TEST(HeedInterruptsTest, HandlersAndAnIgnoredHangUpStay) {
    const Said said = said_by([] {
        ::signal(SIGHUP, SIG_IGN);
        ::signal(SIGINT, [](int) { ::_exit(7); });
        heed_interrupts();
        ::raise(SIGHUP);
        ::raise(SIGINT);
        return 0;
    });
    EXPECT_EQ(said.status, 7);
}

TEST(OwnThreads, AreNamedWithTheirState) {
    const std::vector<std::string> threads = own_threads();
    ASSERT_THAT(threads, Not(IsEmpty()));
    EXPECT_THAT(threads, Contains(HasSubstr(" runs")));
}

}  // namespace
}  // namespace hpo
