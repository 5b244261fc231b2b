// Launches: the environment and descriptors of a worker, and workers that cannot be started (README, promises 12, 13).
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "tests/contract/execution/harness.hpp"
#include "tests/contract/execution/refused_calls.hpp"

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using execution::LaunchFailed;
using execution::Ready;
using ::testing::HasSubstr;

std::string output_of(std::vector<std::string> command, LaunchSpec spec = {}) {
    ExecutorHarness harness;
    spec.command = std::move(command);
    harness.executor->launch(0, spec);
    return harness.next<Exited>(0).log_tail;
}

std::size_t descriptors_of(pid_t pid) {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Takes all descriptors except `free` of them, and closes them when it is destroyed. Descriptors that this process was
/// started with do not matter.
class FewDescriptors {
   public:
    explicit FewDescriptors(std::size_t free) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit tight{64, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &tight);
        for (int taken; (taken = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(taken);
        EXPECT_EQ(errno, EMFILE);
        for (; free > 0 && !taken_.empty(); --free, taken_.pop_back()) ::close(taken_.back());
    }
    ~FewDescriptors() {
        for (const int taken : taken_) ::close(taken);
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

   private:
    rlimit before_{};
    std::vector<int> taken_;
};

TEST(Launch, ACommandThatIsNotThereFailsWithItsErrno) {
    ExecutorHarness harness;
    harness.launch(0, {"/no/such/worker"}, {});
    const auto failed = harness.next<LaunchFailed>(0);
    EXPECT_EQ(failed.error, ENOENT);
    EXPECT_EQ(failed.message, "cannot start /no/such/worker: No such file or directory");
    harness.launch(0, {"/etc/passwd"}, {});
    EXPECT_EQ(harness.next<LaunchFailed>(0).error, EACCES);
    harness.launch(0, {}, {});
    EXPECT_EQ(harness.next<LaunchFailed>(0).error, EINVAL);
    harness.launch(0, {std::string("a\0b", 3)}, {});
    EXPECT_EQ(harness.next<LaunchFailed>(0).error, EINVAL);
    harness.executor->launch(0, {{fake_worker}, {}, {}, "/no/such/folder"});
    EXPECT_EQ(harness.next<LaunchFailed>(0).message, "cannot enter /no/such/folder: No such file or directory");
    harness.launch(0);
    harness.next<Ready>(0);
}

TEST(Launch, WithTooFewDescriptorsItFailsWithEMFILEAndLaterSucceeds) {
#ifdef __SANITIZE_ADDRESS__
    constexpr std::size_t least = 2;  // the sanitizer itself asks with a pipe whether memory is there
#else
    constexpr std::size_t least = 0;
#endif
    // The two pipes of a supervisor take four descriptors.
    for (std::size_t free = least; free < 4; ++free) {
        SCOPED_TRACE(free);
        ExecutorHarness harness;
        {
            const FewDescriptors few(free);
            harness.launch(0);
        }
        const auto failed = harness.next<LaunchFailed>(0);
        EXPECT_EQ(failed.error, EMFILE);
        EXPECT_THAT(failed.message, HasSubstr("open"));
        harness.launch(0);
        harness.next<Ready>(0);
    }
}

TEST(Launch, WorkersGetTheUsersOwnSoftLimitsWhereHpoHasRaisedItsOwn) {
    LocalOptions options;
    options.limits.descriptors = 123;
    options.limits.processes = 100'000;
    ExecutorHarness harness(options);
    harness.launch(0, {"/bin/sh", "-c", "ulimit -Sn"}, {});
    EXPECT_EQ(harness.next<Exited>(0).log_tail, "123");
}

TEST(Launch, ASupervisorThatCannotBeStartedFailsTheLaunch) {
    LocalOptions options;
    options.program = "/no/such/hpo";
    ExecutorHarness harness(options);
    harness.launch(0);
    EXPECT_EQ(harness.next<LaunchFailed>(0).error, ENOENT);
}

/// Some systems tell of it only by the status 127 of the child.
TEST(Launch, ASupervisorWhoseProgramIsNotExecutedFailsTheLaunchAndNoTrial) {
    Folder folder;
    LocalOptions options;
    options.program = folder.path / "hpo";
    std::ofstream(options.program) << "#!/bin/sh\nexit 127\n";
    std::filesystem::permissions(options.program, std::filesystem::perms::owner_all);
    ExecutorHarness harness(options);
    harness.launch(0, {"train.sh"}, {});
    const auto failed = harness.next<LaunchFailed>(0);
    EXPECT_EQ(failed.error, ENOEXEC);
    EXPECT_THAT(failed.message, HasSubstr("train.sh"));
}

TEST(Launch, TheCommandIsFoundOnPathAndItsArgumentsAreNeverAShellsText) {
    EXPECT_EQ(output_of({"printf", "%s|", ";$(touch x)", "-n", "two\nlines", ""}), ";$(touch x)|-n|two\nlines||");
}

TEST(Launch, AWorkerInheritsNoDescriptorButItsOwnThree) {
    // The fourth descriptor is that of the folder that ls reads.
    EXPECT_EQ(output_of({"/bin/ls", "/proc/self/fd"}), "0\n1\n2\n3");
    EXPECT_EQ(output_of({"/bin/readlink", "/proc/self/fd/0"}), "/dev/null");
}

TEST(Launch, AWorkerStartsWithNoSignalBlockedOrIgnored) {
    ::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(output_of({"/bin/grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"}),
              "SigBlk: 0000000000000000\nSigIgn: 0000000000000000");
    ::signal(SIGPIPE, SIG_DFL);
}

TEST(Launch, FolderAffinityAndEnvironmentAreTheOnesAskedFor) {
    Folder folder;
    EXPECT_EQ(output_of({"/bin/pwd"}, {{}, {}, {}, folder.path}), folder.path.string());
    EXPECT_EQ(output_of({"/bin/grep", "Cpus_allowed_list", "/proc/self/status"}, {{}, {}, {0}, {}}),
              "Cpus_allowed_list: 0");
    EXPECT_EQ(output_of({"/bin/sh", "-c", "echo $HOME $GREETING"}, {{}, {{"HOME", "/h"}, {"GREETING", "hi"}}, {}, {}}),
              "/h hi");
}

TEST(Launch, EveryWorkerHasATokenOfItsOwnAndThePrivateFolderIsPrivate) {
    ExecutorHarness harness;
    std::set<std::string> tokens;
    for (int i = 0; i < 3; ++i) {
        harness.launch(0, {"/bin/sh", "-c", "echo $HPO_TOKEN"}, {});
        tokens.insert(harness.next<Exited>(0).log_tail);
    }
    EXPECT_EQ(tokens.size(), 3U);
    EXPECT_EQ(tokens.begin()->size(), 32U);
    const auto folder = harness.executor->folder();
    EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
    harness.executor.reset();
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Launch, AFolderOfSocketsThatSomebodyRemovedIsMadeAnewAndConnectedWorkersStay) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    const auto before = harness.executor->folder();
    std::filesystem::remove_all(before);
    harness.launch(1);
    harness.next<Ready>(1);
    EXPECT_NE(harness.executor->folder(), before);
    for (const WorkerIndex index : {0, 1}) {
        harness.run_trial(index, "");
        EXPECT_EQ(harness.finish(index).outcome, Outcome::complete);
    }
}

TEST(Launch, WorksAndLeavesNothingWherePidfdsAreRefused) {
    const pid_t child = ::fork();
    if (child == 0) {
        refuse_calls({SYS_pidfd_open});
        bool well = ::syscall(SYS_pidfd_open, ::getpid(), 0) < 0 && errno == ENOSYS;
        ExecutorHarness harness;
        harness.launch(0, "children=2");
        harness.next<Ready>(0);
        harness.run_trial(0, "");
        well = well && harness.finish(0).outcome == Outcome::complete;
        for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGKILL);
        harness.next<Exited>(0);
        well = well && tagged(harness.tag).empty() && !::testing::Test::HasFailure();
        harness.executor.reset();
        ::_exit(well ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(Launch, TheSupervisorLeadsASessionOfItsOwnSoThatTerminalSignalsPassItBy) {
    ExecutorHarness harness;
    harness.launch(0);
    harness.next<Ready>(0);
    const auto found = supervisors(harness.tag);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(::getsid(found[0]), found[0]);
    ::kill(found[0], SIGINT);
    ::kill(found[0], SIGHUP);
    harness.run_trial(0, "");
    EXPECT_EQ(harness.finish(0).outcome, Outcome::complete);
}

TEST(Launch, DescriptorsStayFlatOverAThousandLaunches) {
    const int launches = adopts_orphans() ? 1000 : 200;  // without sub-reapers all processes are read at each end
    ExecutorHarness harness;
    const auto launch_once = [&](WorkerIndex index) { harness.launch(index, {"/bin/true"}, {}); };
    for (WorkerIndex index : {0, 1}) launch_once(index);
    for (WorkerIndex index : {0, 1}) harness.next<Exited>(index);
    const auto before = descriptors_of(::getpid());
    const auto found = supervisors(harness.tag);
    ASSERT_EQ(found.size(), 2U);
    const auto supervisor_before = descriptors_of(found[0]);

    int launched = 0;
    int ended = 0;
    const auto began = std::chrono::steady_clock::now();
    harness.listener = [&](WorkerIndex index, const execution::Event& event) {
        ASSERT_TRUE(std::holds_alternative<Exited>(event));
        ++ended;
        if (launched < launches) ++launched, launch_once(index);
    };
    for (WorkerIndex index : {0, 1}) ++launched, launch_once(index);
    ASSERT_TRUE(harness.until([&] { return ended == launched; }));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    RecordProperty("launches_per_second", std::to_string(static_cast<int>(launches / took.count())));
    std::printf("%.0f launches a second, two at a time\n", launches / took.count());

    EXPECT_EQ(descriptors_of(::getpid()), before);
    EXPECT_EQ(descriptors_of(found[0]), supervisor_before);
}

}  // namespace
}  // namespace hpo::testing_execution
