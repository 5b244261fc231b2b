// Valid and invalid messages of workers, and the limits on their number (README, promises 14 to 19).
#include <csignal>

#include "tests/contract/execution/harness.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/refused_sockets.hpp"

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using execution::MalformedLines;
using execution::Ready;
using std::chrono::duration;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

std::int64_t resident_bytes() {
    long pages = 0;
    long resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

/// Lines that are not messages, sent before the second report of a trial.
struct Nonsense {
    const char* name;
    const char* script;
    std::int64_t lines;  ///< counted as malformed, at least
    const char* why;
};

void PrintTo(const Nonsense& nonsense, std::ostream* out) { *out << nonsense.script; }

TEST(Words, ThatTheKernelRefusesForAMomentAreSentAgain) {
    for (const int error : {ENOBUFS, ENOMEM}) {
        ExecutorHarness harness;
        harness.launch(0);
        harness.next<Ready>(0);
        const testing::RefusedSends refused(error, 5);
        harness.run_trial(0, "");
        EXPECT_EQ(harness.finish(0).outcome, Outcome::complete);
        EXPECT_EQ(testing::RefusedSends::left(), 0);
    }
}

TEST(Words, ThatCannotBeSentEndTheConnection) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    const testing::RefusedSends refused(ECONNRESET, 1);
    harness.run_trial(0, "");
    harness.next<Exited>(0);
    EXPECT_EQ(testing::RefusedSends::left(), 0);
}

class NotMessages : public ::testing::TestWithParam<Nonsense> {};

TEST_P(NotMessages, AreCountedInBoundedMemoryAndTheStreamGoesOn) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    const auto before = resident_bytes();
    std::int64_t lines = 0;
    std::string why;
    harness.listener = [&](WorkerIndex, const execution::Event& event) {
        if (const auto* malformed = std::get_if<MalformedLines>(&event))
            lines += malformed->lines, why = malformed->example;
    };
    harness.run_trial(0, GetParam().script);
    EXPECT_EQ(harness.finish(0).outcome, Outcome::complete);
    EXPECT_TRUE(harness.until([&] { return lines >= GetParam().lines; })) << lines;
    EXPECT_THAT(why, HasSubstr(GetParam().why));
    EXPECT_LE(harness.count<MalformedLines>(0), 5U);
    EXPECT_LT(resident_bytes() - before, quarantine_bytes + (64 << 20));
}

INSTANTIATE_TEST_SUITE_P(
    OfEachKind, NotMessages,
    ::testing::Values(Nonsense{"HalfALine", "halfline@2", 1, "not JSON"},
                      Nonsense{"AHundredMegabyteLine", "longline=100000000@2", 1, "a line of more than 65536 bytes"},
                      Nonsense{"BinaryGarbage", "binary=100000@2", 300, ""},
                      Nonsense{"DeepNesting", "nested=60000@2", 1, "not JSON"},
                      Nonsense{"BadUtf8", "badutf8@2", 1, "not JSON"},
                      Nonsense{"EmptyLines", "blank=100000@2", 100000, "not JSON"},
                      Nonsense{"StepsAbove2To53", "step=huge@2", 1, "not a whole number below 2^53"}),
    [](const auto& given) { return given.param.name; });

TEST(Words, AnUnfinishedLineAtTheEndIsToldBeforeTheEnd) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, "cut@1");
    EXPECT_THAT(harness.next<MalformedLines>(0).example, Mentions("unfinished", "end"));
    EXPECT_EQ(harness.next<Exited>(0).code, 0);
}

TEST(Words, NonFiniteLossesArrive) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, "nan@1");
    const auto report = harness.next_message<from_worker::Reported>(0);
    EXPECT_TRUE(std::isnan(report.report.metrics.at("loss")));
    harness.go_on(0, report);
    EXPECT_EQ(harness.next_message<from_worker::Finished>(0).outcome, Outcome::diverged);
}

TEST(Words, WrongStepsAndOtherAttemptsArePassedOnForTheCallerToFence) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, "step=-5@1;old@1", 1, {4, 2});
    EXPECT_EQ(harness.next_message<from_worker::Reported>(0).report.step, -5);
    EXPECT_EQ(harness.next_message<from_worker::Reported>(0).id, (AttemptId{4, 1}));
    EXPECT_EQ(harness.next_message<from_worker::Reported>(0).id, (AttemptId{4, 2}));
}

TEST(Words, AWrongTokenIsTurnedAwayAndTheWorkerNeverReady) {
    ExecutorHarness harness;
    harness.launch(0, "token=guess");
    EXPECT_EQ(harness.next<Exited>(0).code, 0);
    EXPECT_EQ(harness.count<Ready>(0), 0U);
}

TEST(Words, AnotherVersionOfTheProtocolEndsTheWorkerWithThatCause) {
    ExecutorHarness harness;
    harness.launch(0, "version=99");
    EXPECT_THAT(harness.next<Exited>(0).cause, MentionsInOrder("version 99", "hpo", "1 to 2", "client"));
    EXPECT_EQ(harness.count<Ready>(0), 0U);
}

TEST(Words, AWorkerOfTheFirstVersionIsStillUnderstood) {
    ExecutorHarness harness;
    harness.launch(0, "version=1");
    EXPECT_EQ(harness.next<Ready>(0).hello.version, 1);
}

TEST(Words, AWorkerThatNeverReadsIsKilledWhenItsQueueIsFull) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    harness.run_trial(0, "deaf@1", 1);
    harness.next_message<from_worker::Reported>(0);
    const auto before = resident_bytes();
    to_worker::Run big;
    big.id = {2, 1};
    big.params["text"] = std::string(30000, 'x');
    for (int i = 0; i < 1000; ++i) harness.executor->send(0, big);
    EXPECT_LT(resident_bytes() - before, quarantine_bytes + (32 << 20));
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.signal, SIGKILL);
    EXPECT_THAT(exited.cause, Mentions("not read", "messages"));
}

/// Returns the longest time from a well-behaved worker's report to its answer while `other` ran as worker 0.
double slowest_round_trip(const std::string& other, const std::function<bool(const ExecutorHarness&)>& over) {
    ExecutorHarness harness;
    for (WorkerIndex index : {0, 1}) harness.launch(index);
    for (WorkerIndex index : {0, 1}) harness.next<Ready>(index);
    harness.run_trial(0, other, 1);
    harness.run_trial(1, "", 1'000'000'000, {2, 1});
    double slowest = 0;
    auto last = steady_clock::now();
    std::size_t round_trips = 0;
    harness.listener = [&](WorkerIndex index, const execution::Event& event) {
        const auto* received = std::get_if<execution::Received>(&event);
        if (index != 1 || received == nullptr) return;
        const auto* report = std::get_if<from_worker::Reported>(&received->message);
        if (report == nullptr) return;
        slowest = std::max(slowest, duration<double>(steady_clock::now() - last).count());
        last = steady_clock::now();
        ++round_trips;
        harness.go_on(1, *report);
        harness.log.pop_back();
    };
    const auto before = resident_bytes();
    EXPECT_TRUE(harness.until([&] { return over(harness); }, std::chrono::seconds(60)));
    EXPECT_LT(resident_bytes() - before, std::int64_t{1} << 30);  // the test keeps all messages
    EXPECT_GT(round_trips, 10U);
    return slowest;
}

TEST(Words, AMillionLinesFromOneWorkerDoNotDelayTheOthers) {
    const auto finished = [](const ExecutorHarness& harness) {
        return harness.count<execution::Received>(0) >= 20'000;
    };
    std::size_t polls = 0;
    EXPECT_LT(
        slowest_round_trip("flood=1000000;nowait",
                           [&](const ExecutorHarness& harness) { return ++polls % 5000 == 0 && finished(harness); }),
        1.0);
}

TEST(Words, AFloodOfOutputDoesNotDelayTheOthers) {
    std::size_t polls = 0;
    EXPECT_LT(slowest_round_trip("spew=300000000;exit=0@end;nowait",
                                 [&](const ExecutorHarness& harness) {
                                     return ++polls % 100 == 0 &&
                                            harness.count<Exited>(0) + (harness.count<execution::Received>(0) > 2) > 0;
                                 }),
              1.0);
}

TEST(Words, AFloodOfOutputIsDrainedAndItsFileCapped) {
    Folder folder;
    LocalOptions options;
    options.log_bytes = 100'000;
    ExecutorHarness harness(options);
    harness.executor->log_to(0, folder.path / "trial.log");
    harness.launch(0, "spew=50000000;say=the end;exit=0");
    EXPECT_THAT(harness.next<Exited>(0).log_tail, ::testing::EndsWith("the end"));
    const std::string text = content(folder.path / "trial.log");
    EXPECT_LT(text.size(), 100'100U);
    EXPECT_THAT(text, Mentions("bytes", "left"));
    EXPECT_THAT(text, ::testing::EndsWith("the end\n"));
}

TEST(Words, EachTrialsOutputGoesToTheFileSetBeforeIt) {
    Folder folder;
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    for (const std::string name : {"a", "b"}) {
        harness.executor->log_to(0, folder.path / name);
        harness.run_trial(0, "say=this is " + name + "@1");
        harness.finish(0);
        EXPECT_TRUE(harness.until([&] { return content(folder.path / name) == "this is " + name + "\n"; }));
    }
}

TEST(Words, ALogThatCannotBeWrittenHurtsNobody) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    for (const char* file : {"/no/such/folder/log", "/dev/full", "/proc/self/stat", "/"}) {
        harness.executor->log_to(0, file);
        harness.run_trial(0, "spew=100000@1");
        EXPECT_EQ(harness.finish(0).outcome, Outcome::complete);
    }
}

}  // namespace
}  // namespace hpo::testing_execution
