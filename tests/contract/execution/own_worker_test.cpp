// Workers that are a command of the supervisor's own program, and run without another exec.
#include "tests/contract/execution/own_worker.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/process.hpp"
#include "tests/contract/execution/harness.hpp"
#include "tests/contract/execution/refused_calls.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::testing_execution {
namespace {

using execution::Exited;
using ::testing::HasSubstr;

bool called_by_main = false;

/// Returns the numbers of the open descriptors but for that of the list itself.
std::string open_descriptors() {
    std::vector<int> numbers;
    DIR* folder = ::opendir("/proc/self/fd");
    while (const dirent* entry = ::readdir(folder))
        if (const int number = std::atoi(entry->d_name); entry->d_name[0] != '.' && number != ::dirfd(folder))
            numbers.push_back(number);
    ::closedir(folder);
    std::ranges::sort(numbers);
    std::string text;
    for (const int number : numbers) text += std::to_string(number) + ' ';
    return text;
}

/// Returns the signals whose action is not the default one, or that are blocked.
std::string changed_signals() {
    std::string text;
    sigset_t blocked;
    ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
    for (int signal = 1; signal < 32; ++signal) {
        struct sigaction action {};
        ::sigaction(signal, nullptr, &action);
        if (action.sa_handler != SIG_DFL || sigismember(&blocked, signal) != 0) text += std::to_string(signal) + ' ';
    }
    return text;
}

std::string command_line() {
    std::string text = content("/proc/self/cmdline");
    text.erase(text.find_last_not_of('\0') + 1);
    std::ranges::replace(text, '\0', ' ');
    return text;
}

std::string own_file() { return os::own_program_file()->string(); }

/// The supervisor is started by the same path as the worker, like that of hpo and of an agent.
LocalOptions by_own_file() {
    LocalOptions options;
    options.program = own_file();
    return options;
}

LaunchSpec own_worker(const std::string& order) {
    LaunchSpec spec;
    spec.command = {own_file(), own_worker_command, order};
    return spec;
}

std::string state_of(const LaunchSpec& spec) {
    ExecutorHarness harness(by_own_file());
    harness.launch(0, spec);
    const auto exited = harness.next<Exited>(0);
    EXPECT_EQ(exited.code, 7);
    EXPECT_GT(exited.peak_bytes, 0);
    return exited.log_tail;
}

std::string tag_of(pid_t pid) {
    const std::string environment = content("/proc/" + std::to_string(pid) + "/environ");
    const std::string name = std::string(tag_variable) + '=';
    return environment.substr(environment.find(name) + name.size()).c_str();
}

/// Starts a worker that waits, and returns its pid.
pid_t start_waiting(ExecutorHarness& harness) {
    harness.launch(0, own_worker("wait"));
    pid_t worker = 0;
    EXPECT_TRUE(eventually([&] {
        for (const pid_t pid : tagged(harness.tag))
            if (content("/proc/" + std::to_string(pid) + "/cmdline").find(own_worker_command) != std::string::npos)
                worker = pid;
        return worker != 0;
    }));
    return worker;
}

TEST(OwnWorker, RunsWithoutAnotherExecWhereAllDescriptorsCanBeClosed) {
    const bool refused = std::getenv(refused_variable) != nullptr;
    EXPECT_THAT(state_of(own_worker("state")), HasSubstr(refused ? "run: exec\n" : "run: supervisor\n"));
}

TEST(OwnWorker, FindsWhatItWouldFindAfterExec) {
    const Folder folder;
    LaunchSpec spec = own_worker("state");
    spec.folder = folder.path;
    spec.cpus = {os::allowed_cores().front()};
    spec.environment = {{"GREETING", "hi"}};
    const std::string state = state_of(spec);
    EXPECT_THAT(state, HasSubstr("shown: " + own_file() + ' ' + own_worker_command));
    EXPECT_THAT(state, HasSubstr("named: test_contract_e\n"));
    EXPECT_THAT(state, HasSubstr("argument: state\n"));
    EXPECT_THAT(state, HasSubstr("descriptors: 0 1 2 \n"));
    EXPECT_THAT(state, HasSubstr("signals: \n"));
    EXPECT_THAT(state, HasSubstr("folder: " + folder.path.string() + '\n'));
    EXPECT_THAT(state, HasSubstr("cores: 1\n"));
    EXPECT_THAT(state, HasSubstr("greeting: hi\n"));
    EXPECT_THAT(state, HasSubstr("leader: 1"));
}

TEST(OwnWorker, DiesWithItsSupervisorAndThePlaceGoesOn) {
    ExecutorHarness harness(by_own_file());
    const pid_t worker = start_waiting(harness);
    for (const pid_t supervisor : supervisors(harness.tag)) ::kill(supervisor, SIGKILL);
    EXPECT_THAT(harness.next<Exited>(0).cause, Mentions("supervisor", "killed"));
    EXPECT_TRUE(has_ended(worker));
    harness.launch(0, own_worker("state"));
    EXPECT_EQ(harness.next<Exited>(0).code, 7);
}

TEST(OwnWorker, IsNoSupervisorToASweepThatSparesThese) {
    ExecutorHarness harness(by_own_file());
    const pid_t worker = start_waiting(harness);
    kill_tagged(tag_of(worker), Supervisors::spared);
    EXPECT_EQ(harness.next<Exited>(0).signal, SIGKILL);
    EXPECT_TRUE(has_ended(worker));
    EXPECT_EQ(supervisors(harness.tag).size(), 1U);
}

}  // namespace

void note_that_main_runs_own_worker() { called_by_main = true; }

int run_own_worker(int argc, char** argv) {
    const std::string order = argc > 2 ? argv[2] : "";
    if (order == "wait")
        for (;;) ::pause();
    const char* greeting = std::getenv("GREETING");
    std::fprintf(stderr,
                 "run: %s\nshown: %s\nnamed: %sargument: %s\ndescriptors: %s\nsignals: %s\nfolder: %s\ncores: %zu\n"
                 "greeting: %s\nleader: %d\n",
                 called_by_main ? "exec" : "supervisor", command_line().c_str(), content("/proc/self/comm").c_str(),
                 order.c_str(), open_descriptors().c_str(), changed_signals().c_str(),
                 std::filesystem::current_path().c_str(), os::allowed_cores().size(),
                 greeting == nullptr ? "" : greeting, ::getpgrp() == ::getpid());
    return 7;
}

}  // namespace hpo::testing_execution
