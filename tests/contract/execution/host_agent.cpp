#include "tests/contract/execution/host_agent.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/cluster/hosts_site.hpp"
#include "orchestrator/cluster/join_agent.hpp"
#include "orchestrator/cluster/join_file.hpp"
#include "orchestrator/execution/spawn.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::testing_execution {

namespace {

bool asked_for(const char* executor) {
    const char* asked = std::getenv("HPO_TEST_EXECUTOR");
    return asked != nullptr && std::strcmp(asked, executor) == 0;
}

constexpr std::string_view joins_prefix = "hpo-joins-";

/// Removes the folders of programs that were killed, such as the orchestrators that tests kill.
void remove_folders_of_the_dead() {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path(), ignored)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(joins_prefix)) continue;
        const auto pid = static_cast<pid_t>(std::atoll(name.c_str() + joins_prefix.size()));
        if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ignored);
    }
}

/// A folder for the join file, which goes with the program.
const std::filesystem::path& folder_of_joins() {
    static const struct Folder {
        std::filesystem::path path =
            std::filesystem::temp_directory_path() / (std::string(joins_prefix) + std::to_string(::getpid()));
        Folder() {
            remove_folders_of_the_dead();
            std::filesystem::create_directories(path);
        }
        ~Folder() {
            std::filesystem::remove_all(path);
            remove_folders_of_the_dead();
        }
    } folder;
    return folder.path;
}

/// Ends this process a minute after the other one, if it still runs then.
void end_after(pid_t pid) {
    constexpr unsigned int seconds = 60;
    const int watched = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    std::thread([watched] {
        pollfd end{watched, POLLIN, 0};
        while (watched >= 0 && ::poll(&end, 1, -1) < 1) {
        }
        ::sleep(seconds);
        ::_exit(1);
    }).detach();
}

/// Starts an agent that joins. The system gives it to another parent, since the test waits for no child.
void start_joining_agent() {
    const std::string file = folder_of_joins() / cluster::join_file_name;
    pid_t shell = 0;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    if (spawn({.command = {"/bin/sh", "-c", "\"$0\" \"$@\" 2> /dev/null &", self, joining_agent_command, file,
                           std::to_string(::getpid())},
               .out = STDOUT_FILENO,
               .error = STDERR_FILENO,
               .session = true},
              shell) != 0)
        throw std::runtime_error("cannot start an agent");
    (void)::waitpid(shell, nullptr, 0);
}

}  // namespace

int run_joining_agent(const char* join_file, const char* test) {
    end_after(static_cast<pid_t>(std::atoll(test)));
    return join_study(join_file, "/proc/self/exe", Seconds(0));
}

bool tests_hosts() { return asked_for("hosts") || asked_for("joined"); }

OnAHost make_on_a_host(boost::asio::io_context& loop, const std::string& tag, ExecutionListener listener) {
    // The study has only the keys that an agent needs to begin: the tests launch commands of their own.
    static const Study study = *parse_study(
        "{study: x, objective: {metric: loss, direction: minimize}, space: {x: {type: float, low: 0.0, high: 1.0}}, "
        "worker: {command: [\"true\"]}, budget: {trials: 1, epochs: 1}, resources: {backend: cpu}}",
        "study.yaml");
    static const StudyFolder folder{folder_of_joins()};
    static const Programs programs{"/proc/self/exe", "", ""};
    const bool joins = asked_for("joined");
    const OpenSite open = joins ? cluster::open_hosts({}, cluster::ListenAt{"127.0.0.1", 0})
                                : cluster::open_hosts({{"a", {"/proc/self/exe", agent_command}}});
    auto site = open({loop, study, folder, programs, tag, [](const DeviceNotice&) {}});
    if (!site) throw std::runtime_error(site.error().message);
    auto executor = site->executor(std::move(listener));
    if (!executor) throw std::runtime_error(executor.error().message);
    if (joins) start_joining_agent();
    while (!site->machine->waits_to_begin().empty()) {
        if (loop.stopped()) loop.restart();  // nothing was left to wait for but an agent that joins
        loop.run_one_for(std::chrono::milliseconds(100));
        (void)site->machine->poll(Seconds(0));
    }
    if (const std::string gone = site->machine->gone(); !gone.empty()) throw std::runtime_error(gone);
    return {std::move(site->machine), *std::move(executor)};
}

}  // namespace hpo::testing_execution
