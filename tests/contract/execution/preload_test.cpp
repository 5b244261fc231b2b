// Workers that are forked from a Python interpreter that their supervisor keeps. All promises also hold for them.
#include <sys/stat.h>

#include <csignal>
#include <random>
#include <sstream>

#include "tests/contract/execution/harness.hpp"
#include "tests/contract/execution/refused_calls.hpp"
#include "tests/support/paths.hpp"

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using execution::LaunchFailed;
using execution::Notice;
using execution::Ready;
using std::chrono::milliseconds;

/// The fake worker takes the place of hpo's adapter. The forked process executes it.
LaunchSpec forked(const std::string& script, const std::string& modules = "",
                  const std::string& program = fake_worker) {
    LaunchSpec spec;
    spec.command = {program};
    spec.environment = {{"FAKE_WORKER", script}};
    spec.preload = {"/usr/bin/python3", testing::source_folder() + "/worker/python/hpo/preload.py",
                    "{\"modules\": [" + modules +
                        "], \"command\": [\"-m\", \"json.tool\"], \"interpreter\": 1, \"adapter\": true}"};
    return spec;
}

std::vector<pid_t> interpreters(const std::string& tag) {
    std::vector<pid_t> found = tagged(tag);
    std::erase_if(found, [](pid_t pid) {
        return content("/proc/" + std::to_string(pid) + "/comm") != "hpo-preload\n" ||
               content("/proc/" + std::to_string(pid) + "/stat").find(" (hpo-preload) Z") != std::string::npos;
    });
    return found;
}

/// Returns a process's start time in clock ticks since the machine's start, from field 22 of its stat.
long long started_at(pid_t pid) {
    const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    std::string field;
    for (int number = 3; number <= 22; ++number) fields >> field;
    return std::atoll(field.c_str());
}

/// Returns the interpreter's process. The processes that it has forked have the same name, so the oldest one is chosen
/// by its start time. Pids do not show the age, since they are reused.
pid_t interpreter(const std::string& tag) {
    const auto all = interpreters(tag);
    const auto oldest = std::min_element(all.begin(), all.end(),
                                         [](pid_t one, pid_t other) { return started_at(one) < started_at(other); });
    return oldest == all.end() ? 0 : *oldest;
}

class Preload : public ::testing::Test {
   protected:
    void SetUp() override {
        if (!adopts_orphans()) GTEST_SKIP() << "without sub-reapers no worker is forked from an interpreter";
    }
};

TEST(PreloadWithoutSubReapers, EachWorkerStartsItsOwnInterpreterAndTheReasonIsToldOnce) {
    if (adopts_orphans()) GTEST_SKIP() << "this system has sub-reapers";
    ExecutorHarness harness;
    for (int round = 0; round < 2; ++round) {
        harness.executor->launch(0, forked("children=1"));
        harness.next<Ready>(0);
        EXPECT_EQ(interpreters(harness.tag).size(), 0U);
        harness.executor->kill(0);
        harness.next<Exited>(0);
    }
    EXPECT_EQ(harness.count<Notice>(0), 1U);
    EXPECT_EQ(harness.first<Notice>(0).text,
              "worker.preload is not used, each trial starts its own interpreter: the system has no sub-reapers, or "
              "refuses them");
}

TEST_F(Preload, WorkersAreForkedFromOneInterpreterAndEachLeavesNothing) {
    ExecutorHarness harness;
    pid_t first = 0;
    for (int round = 0; round < 8; ++round) {
        harness.executor->launch(0, forked("children=2;daemon=2;siblings=1;ignore-term"));
        const auto hello = harness.next<Ready>(0).hello;
        if (round == 0) first = interpreter(harness.tag);
        EXPECT_EQ(interpreter(harness.tag), first);
        EXPECT_EQ(::getpgid(static_cast<pid_t>(hello.pid)), hello.pid);
        harness.executor->kill(0);
        EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
        EXPECT_NE(::kill(static_cast<pid_t>(hello.pid), 0), 0);
        // There are only the supervisor, the interpreter, the process that waits to be a worker, and that process's
        // child.
        EXPECT_TRUE(eventually([&] { return tagged(harness.tag).size() == interpreters(harness.tag).size() + 1; }));
    }
    EXPECT_EQ(harness.count<Notice>(0), 0U);
    harness.executor.reset();
    EXPECT_EQ(tagged(harness.tag).size(), 0U);
}

TEST_F(Preload, AWorkersEndIsTheOneOfItsProcess) {
    ExecutorHarness harness;
    const auto end = [&](const std::string& script) {
        harness.executor->launch(0, forked(script));
        return harness.next<Exited>(0);
    };
    EXPECT_EQ(end("exit=7").code, 7);
    EXPECT_EQ(end("die=SIGSEGV").signal, SIGSEGV);
    EXPECT_EQ(end("say=last words;exit=0").log_tail, "last words");
    harness.executor->launch(0, forked(""));
    harness.next<Ready>(0);
    harness.executor->terminate(0, 5);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGTERM);
    harness.executor->launch(0, forked("ignore-term"));
    harness.next<Ready>(0);
    harness.executor->terminate(0, 0.05);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
    EXPECT_EQ(harness.count<Notice>(0), 0U);
}

TEST_F(Preload, AnInterpreterThatCannotServeIsTheEndOfForkingNotOfTheWorker) {
    for (const char* modules : {"\"no_such_module\"", "\"json.no_such_part\""}) {
        ExecutorHarness harness;
        for (int round = 0; round < 3; ++round) {
            harness.executor->launch(0, forked("", modules));
            harness.next<Ready>(0);
            harness.executor->kill(0);
            harness.next<Exited>(0);
        }
        EXPECT_EQ(harness.count<Notice>(0), 1U);
        EXPECT_EQ(interpreters(harness.tag).size(), 0U);
    }
    ExecutorHarness harness;
    LaunchSpec spec = forked("");
    spec.preload[0] = "/no/such/python";
    harness.executor->launch(0, spec);
    harness.next<Ready>(0);
    EXPECT_THAT(harness.first<Notice>(0).text, ::testing::HasSubstr("/no/such/python: No such file or directory"));
}

TEST_F(Preload, AWorkerThatIsKilledWhileModulesAreImportedIsGone) {
    ExecutorHarness harness;
    // The preload never ends, since its module reads from a pipe without a writer.
    Folder folder;
    std::ofstream(folder.path / "hangs.py") << "import select; select.select([], [], [])";
    LaunchSpec spec = forked("", "\"hangs\"");
    spec.environment["PYTHONPATH"] = folder.path.string();
    harness.launch(0, spec);
    EXPECT_TRUE(eventually([&] { return interpreter(harness.tag) != 0; }));
    harness.executor->kill(0);
    EXPECT_THAT(harness.next<Notice>(0).text, ::testing::HasSubstr("imports"));
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
    EXPECT_EQ(tagged(harness.tag).size(), 1U);
    harness.executor->launch(0, spec);
    harness.next<Ready>(0);
}

TEST_F(Preload, AWorkerThatIsKilledBeforeTheSupervisorHeardOfItEndsAloneAndTheInterpreterStays) {
    ExecutorHarness harness;
    Folder folder;
    const auto gate = folder.path / "gate";
    ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
    std::ofstream(folder.path / "waits.py") << "open('" << gate.string() << "').read()";
    LaunchSpec spec = forked("", "\"waits\"");
    spec.environment["PYTHONPATH"] = folder.path.string();
    harness.launch(0, spec);
    const auto sleeps = [](pid_t pid, char state) {
        return content("/proc/" + std::to_string(pid) + "/stat").find(std::string(") ") + state) != std::string::npos;
    };
    ASSERT_TRUE(eventually([&] { return interpreter(harness.tag) != 0; }));
    const pid_t imports = interpreter(harness.tag);
    const pid_t supervisor = supervisors(harness.tag).at(0);
    ASSERT_TRUE(eventually([&] { return sleeps(supervisor, 'S'); })) << "the worker has been ordered";
    ::kill(supervisor, SIGSTOP);
    ASSERT_TRUE(eventually([&] { return sleeps(supervisor, 'T'); }));
    std::ofstream(gate) << "go";
    harness.next<Ready>(0);
    harness.executor->kill(0);
    harness.loop.poll();
    ::kill(supervisor, SIGCONT);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
    EXPECT_EQ(harness.count<Notice>(0), 0U);
    EXPECT_EQ(interpreter(harness.tag), imports);
}

TEST_F(Preload, AnInterpreterKilledAtRandomInstantsLosesNoWorkerAndStartsNoneTwice) {
    std::mt19937 random(3);
    for (int round = 0; round < 30; ++round) {
        ExecutorHarness harness;
        harness.executor->launch(0, forked(""));
        if (round % 2 == 0) {
            harness.next<Ready>(0);
            harness.executor->kill(0);
            harness.next<Exited>(0);
            harness.executor->launch(0, forked(""));
        }
        harness.until([] { return false; }, milliseconds(random() % (round % 2 == 0 ? 8 : 80)));
        for (const pid_t pid : interpreters(harness.tag))
            if (round % 3 == 0 || pid == interpreter(harness.tag)) ::kill(pid, SIGKILL);
        // The process that was already forked may have been the worker itself.
        ASSERT_TRUE(harness.until([&] {
            return harness.count<Ready>(0) > (round % 2 == 0 ? 1U : 0U) ||
                   harness.count<Exited>(0) > (round % 2 == 0 ? 1U : 0U);
        })) << "round "
            << round;
        harness.executor->kill(0);
        ASSERT_TRUE(harness.until([&] { return harness.count<Exited>(0) == (round % 2 == 0 ? 2U : 1U); }));
        EXPECT_EQ(harness.count<LaunchFailed>(0), 0U);
        harness.executor->launch(0, forked(""));
        ASSERT_TRUE(harness.until([&] { return std::holds_alternative<Ready>(harness.log.back().second); }))
            << "round " << round;
        EXPECT_LE(harness.count<Notice>(0), 1U);
        harness.executor.reset();
        EXPECT_EQ(tagged(harness.tag).size(), 0U);
    }
}

}  // namespace
}  // namespace hpo::testing_execution
