#include "orchestrator/script/ending.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

#include <csignal>

namespace hpo::script {
namespace {

using ::testing::HasSubstr;

constexpr int exited(int status) { return status << 8; }

Ending ending(int status, const char* output, std::int64_t steps = 0) {
    return ending_of({.status = status, .output = output, .steps = steps, .planned = 5});
}

const std::string frames = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    f()\n";
const std::string memory = frames + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\n";

TEST(Ending, IsTheExitsUnlessASignalOrMemoryEndedIt) {
    EXPECT_EQ(ending(0, "val_loss=1\n", 3).outcome, Outcome::complete);
    EXPECT_EQ(ending(0, "val_loss=1\n", 3).message, "");
    const Ending failed = ending(exited(1), (frames + "ValueError: no\n").c_str(), 3);
    EXPECT_EQ(failed.outcome, Outcome::failed);
    EXPECT_THAT(failed.message, HasSubstr("status 1: ValueError: no"));
    EXPECT_EQ(ending(exited(1), memory.c_str()).outcome, Outcome::out_of_memory);
    EXPECT_EQ(ending(SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'\n").outcome,
              Outcome::out_of_memory);
}

TEST(Ending, ASignalBelowAShellOrALauncherCountsAsWithoutIt) {
    EXPECT_EQ(ending(SIGSEGV, "").signal, SIGSEGV);
    EXPECT_EQ(ending(exited(137), "Killed\n").signal, SIGKILL);
    EXPECT_EQ(ending(exited(139), "epoch 1 loss=1\nrun.sh: line 2: 7 Segmentation fault      ./train\n").signal,
              SIGSEGV);
    EXPECT_EQ(ending(exited(2), "make: *** [Makefile:2: train] Killed\n").signal, SIGKILL);
    EXPECT_EQ(ending(exited(2), "Killed\nmake: *** [Makefile:2: train] Error 137\n").signal, SIGKILL);
    EXPECT_EQ(ending(exited(1), (frames + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\n"
                                          "  exitcode  : -9 (pid: 77)\n"
                                          "  traceback : Signal 9 (SIGKILL) received by PID 77\n=====\n")
                                    .c_str())
                  .signal,
              SIGKILL);
    EXPECT_EQ(
        ending(exited(1),
               (frames + "subprocess.CalledProcessError: Command '['a']' died with <Signals.SIGBUS: 7>.\n").c_str())
            .signal,
        SIGBUS);
    // The status alone: the output of the shell may be elsewhere.
    for (const int status : {137, 139, 134, 143, 247})
        EXPECT_EQ(ending(exited(status), "epoch 1 loss=1\n").status, status);
    EXPECT_EQ(ending(exited(1), "run.sh: line 2: 7 Killed   ./prepare\nepoch 1 loss=1\nno data\n").outcome,
              Outcome::failed)
        << "the script went on";
    EXPECT_EQ(ending(exited(255), "no data\n").outcome, Outcome::failed);
}

TEST(Ending, OnlyTheErrorThatEndedTheProgramIsItsCause) {
    const std::string error = frames + "ValueError: no batch fits\n";
    EXPECT_THAT(ending(exited(1), (memory + error).c_str()).message, HasSubstr("status 1: ValueError: no batch fits"));
    EXPECT_EQ(
        ending(exited(1), "CUDA out of memory, half the batch\nepoch 1 loss=0.5\nepoch 2 loss=0.4\nno data\n").outcome,
        Outcome::failed);
    EXPECT_EQ(ending(exited(1), ("RuntimeWarning: MemoryError\n" + error).c_str()).outcome, Outcome::failed);
    // With more memory the exception from which this one was raised would not have been.
    EXPECT_EQ(
        ending(exited(1),
               (memory + "\nDuring handling of the above exception, another exception occurred:\n\n" + error).c_str())
            .outcome,
        Outcome::out_of_memory);
}

TEST(Ending, AfterTheLastStepTheTrialIsCompleteAndAFailureIsTold) {
    EXPECT_EQ(ending(0, "", 5).message, "");
    for (const int status : {exited(1), exited(137), int(SIGSEGV)}) {
        const Ending after = ending(status, (frames + "OSError: no space\n").c_str(), 5);
        EXPECT_EQ(after.outcome, Outcome::complete);
        EXPECT_THAT(after.message, Mentions("after", "last"));
        EXPECT_THAT(after.message, HasSubstr("OSError: no space"));
        EXPECT_EQ(after.signal, 0);
        EXPECT_EQ(after.status, 0);
    }
}

TEST(Ending, AFailureThatAPipeHidesIsTold) {
    const Ending hidden = ending(0, ("val_loss=1\n" + frames + "ValueError: no\n").c_str(), 3);
    EXPECT_EQ(hidden.outcome, Outcome::complete);
    EXPECT_THAT(hidden.message, Mentions("status 0", "ValueError: no"));
    EXPECT_EQ(ending(0, memory.c_str(), 3).outcome, Outcome::out_of_memory);
    EXPECT_EQ(ending(0, (frames + "KeyError: 'cache'\nval_loss=1\nsaved\n").c_str(), 3).message, "");
}

const std::string lost_connection = frames + "RuntimeError: Connection closed by peer\n";
const std::string host_memory = frames + "MemoryError\n";

EndingOfRanks ending_of(const std::vector<RankEnd>& ends, const std::string& of_rank_0 = lost_connection,
                        std::int64_t steps = 0) {
    return ending_of_ranks(ends, {.status = ends.front().status, .output = of_rank_0, .steps = steps, .planned = 5});
}

TEST(EndingOfRanks, IsThatOfTheFirstThatFailed) {
    const auto end = ending_of({{.rank = 1},
                                {.rank = 3, .status = exited(1), .output = frames + "ValueError: no\n"},
                                {.rank = 0, .status = SIGTERM, .sent = SIGTERM},
                                {.rank = 2, .status = SIGKILL, .sent = SIGKILL, .output = lost_connection}});
    EXPECT_EQ(end.rank, 3U);
    EXPECT_EQ(end.ending.outcome, Outcome::failed);
    EXPECT_THAT(end.ending.message, Mentions("rank 3", "status 1: ValueError: no"));
    EXPECT_EQ(ending_of({{.rank = 0}, {.rank = 1}}, "").ending.outcome, Outcome::complete);
}

TEST(EndingOfRanks, MemoryOfAnyRankIsTheReason) {
    for (const auto& [status, sent] : {std::pair{exited(1), 0}, {exited(1), SIGTERM}, {SIGTERM, SIGTERM}}) {
        const auto end = ending_of(
            {{.rank = 0, .status = exited(1)}, {.rank = 1, .status = status, .sent = sent, .output = host_memory}});
        EXPECT_EQ(end.ending.outcome, Outcome::out_of_memory);
        EXPECT_EQ(end.rank, 1U);
    }
    const auto handled = ending_of({{.rank = 0, .status = exited(1)},
                                    {.rank = 1,
                                     .status = SIGTERM,
                                     .sent = SIGTERM,
                                     .output = host_memory + "a smaller batch\nepoch 1\nepoch 2\nepoch 3\nepoch 4\n"}});
    EXPECT_EQ(handled.ending.outcome, Outcome::failed) << "the error was handled long before";
    EXPECT_EQ(handled.rank, 0U);
}

TEST(EndingOfRanks, AKilledRankIsTheReasonUnlessTheLauncherKilledIt) {
    const auto lost = ending_of({{.rank = 0, .status = exited(1)}, {.rank = 1, .status = SIGKILL, .sent = SIGTERM}});
    EXPECT_EQ(lost.ending.signal, SIGKILL);
    EXPECT_EQ(lost.rank, 1U);
    const auto ended = ending_of({{.rank = 0, .status = exited(1)}, {.rank = 1, .status = SIGKILL, .sent = SIGKILL}});
    EXPECT_EQ(ended.ending.outcome, Outcome::failed);
    const auto complete =
        ending_of({{.rank = 0, .status = exited(1)}, {.rank = 1, .status = SIGKILL, .sent = SIGTERM}}, "", 5);
    EXPECT_EQ(complete.ending.outcome, Outcome::complete);
}

TEST(EndingOfRanks, ASignalThatEndsTheLauncherCostsTheAttempt) {
    for (const int status : {SIGTERM, exited(1)}) {
        const auto end = ending_of({{.rank = 1, .status = status, .sent = SIGTERM, .output = lost_connection},
                                    {.rank = 0, .status = SIGTERM, .sent = SIGTERM}},
                                   "", 3);
        EXPECT_EQ(end.ending.outcome, Outcome::lost);
        EXPECT_EQ(end.ending.signal, SIGTERM);
    }
    const auto complete = ending_of({{.rank = 0, .status = SIGTERM, .sent = SIGTERM}}, "", 5);
    EXPECT_EQ(complete.ending.outcome, Outcome::complete);
}

}  // namespace
}  // namespace hpo::script
