#include "orchestrator/doctor/tried_run.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"
#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/spawn.hpp"
#include "os/environment.hpp"
#include "os/process.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;

constexpr long pause_nanoseconds = 5'000'000;
constexpr int taken_signals[] = {SIGINT, SIGTERM, SIGHUP};

std::string content_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

BlockedSignals::BlockedSignals() {
    sigemptyset(&signals_);
    for (const int signal : taken_signals) sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, &before_);
}

BlockedSignals::~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

void BlockedSignals::pause() const {
    const timespec time{0, pause_nanoseconds};
    (void)::nanosleep(&time, nullptr);
    sigset_t pending;
    ::sigpending(&pending);
    for (const int signal : taken_signals)
        if (sigismember(&pending, signal) == 1) {
            int taken = 0;
            (void)::sigwait(&signals_, &taken);
            throw SelfTestInterrupted{taken};
        }
}

std::optional<Seconds> BlockedSignals::wait_until(const std::function<bool()>& holds, Seconds limit) const {
    const SteadyClock clock;
    const Seconds begin = clock.now();
    while (true) {
        const bool done = holds();
        const Seconds took = clock.now() - begin;
        if (done) return took;
        if (took > limit) return std::nullopt;
        pause();
    }
}

std::vector<pid_t> processes_with(const std::string& token) {
    std::vector<pid_t> found;
    for (const pid_t pid : all_processes()) {
        const bool holds = command_line_of(pid).find(token) != std::string::npos ||
                           environment_of(pid).find(token) != std::string::npos;
        if (holds && pid != ::getpid() && !has_ended(pid)) found.push_back(pid);
    }
    return found;
}

TriedRun::TriedRun(const fs::path& folder, const std::string& name, const std::string& token,
                   const std::vector<std::string>& arguments)
    : out_(folder / (name + ".out")), error_(folder / (name + ".err")) {
    std::vector<std::string> words{"hpo"}, variables{self_test_variable + ("=" + token), "HPO_RUNS=runs"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (!std::string_view(*variable).starts_with("HPO_RUNS=")) variables.emplace_back(*variable);
    const auto opened = [](const fs::path& file) {
        return Descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    };
    const Descriptor out = opened(out_), error = opened(error_);
    const int failed = spawn({.command = words,
                              .program = os::own_program(),
                              .environment = variables,
                              .folder = folder.string(),
                              .out = out.get(),
                              .error = error.get()},
                             pid_);
    if (failed != 0) throw Fatal("hpo cannot start itself: " + std::string(std::strerror(failed)));
}

TriedRun::~TriedRun() {
    if (status()) return;
    send(SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void TriedRun::send(int signal) const { ::kill(pid_, signal); }

std::optional<int> TriedRun::status() {
    int ended = 0;
    if (!status_ && ::waitpid(pid_, &ended, WNOHANG) == pid_)
        status_ = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    return status_;
}

std::string TriedRun::output() const { return content_of(out_); }

std::string TriedRun::last_error() const {
    std::istringstream text(content_of(error_));
    std::string last;
    for (std::string line; std::getline(text, line);)
        if (!line.empty()) last = line;
    return last;
}

std::vector<nlohmann::json> TriedRun::events() const {
    std::vector<nlohmann::json> all;
    const std::string text = output();
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        if (auto event = nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                               text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
            !event.is_discarded())
            all.push_back(std::move(event));
    return all;
}

}  // namespace hpo
