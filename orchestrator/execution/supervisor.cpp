#include "orchestrator/execution/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "orchestrator/execution/child.hpp"
#include "orchestrator/execution/frames.hpp"
#include "orchestrator/execution/preloader.hpp"
#include "orchestrator/execution/processes.hpp"

namespace hpo::supervisor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t chunk_bytes = 64 * 1024;
/// Unsent notices above which the worker's output waits in its pipe, and the worker with it.
constexpr std::size_t backlog_bytes = 256 * 1024;
/// Output taken after the end; what still writes then is no descendant.
constexpr std::size_t last_output_bytes = 1024 * 1024;
/// Between two looks at what is left to kill, should no SIGCHLD come.
constexpr milliseconds kill_again{10};

class Supervisor {
   public:
    int run();

   private:
    void wait_for_something();
    void take_signals();
    void take_orders();
    void carry_out(std::uint32_t kind, std::string_view payload);
    void start(Start start);
    void start_by_command(const Start& start);
    void began(pid_t pid, Descriptor output);
    void hear_preloader();
    void give_preloader_up();
    void cleared();
    void take_from(Descriptor& output, std::size_t most);
    void reap();
    [[nodiscard]] std::vector<pid_t> left_of_worker();
    void kill_children();
    void sweep_orphans();
    void tell_end();
    void flush();
    [[nodiscard]] bool killing() const { return doomed_ || clearing_ || (worker_ != 0 && (ended_ || kill_ordered_)); }

    Descriptor signals_;
    FrameReader orders_;
    std::string notices_;  ///< not yet written
    bool doomed_ = false;  ///< the orchestrator is gone: kill, then exit
    bool childless_ = true;

    pid_t worker_ = 0;  ///< 0: none, the place is free
    Descriptor output_;
    bool ended_ = false;  ///< the worker was reaped; its descendants may live
    bool kill_ordered_ = false;
    int status_ = 0;
    rusage usage_{};
    long long kills_before_ = 0;
    std::optional<Clock::time_point> kill_at_;  ///< end of the grace period

    std::optional<Preloader> preloader_;
    bool preloads_ = true;          ///< false: it could not be used
    std::optional<Start> pending_;  ///< ordered from it, does not run yet
    Descriptor pending_output_;
    bool clearing_ = false;  ///< it is given up while a worker was ordered from it: nobody may run before all are gone
};

int Supervisor::run() {
    ::setsid();
    ::prctl(PR_SET_NAME, supervisor_name);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const int signal : {SIGPIPE, SIGHUP, SIGINT}) ::signal(signal, SIG_IGN);
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    ::sigprocmask(SIG_SETMASK, &watched, nullptr);
    signals_ = Descriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) return 1;
    for (const int fd : {0, 1}) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    while (!(doomed_ && childless_)) {
        wait_for_something();
        reap();
        flush();
    }
    sweep_orphans();
    return 0;
}

/// The orchestrator is gone. If another supervisor of the study was killed too, nobody but those left can end what it
/// kept.
void Supervisor::sweep_orphans() {
    const char* tag = std::getenv(tag_variable);
    if (tag == nullptr) return;
    const std::string own = tag;
    sweep(own.substr(0, own.find(':')), std::chrono::seconds(1), Supervisors::spared);
}

void Supervisor::wait_for_something() {
    int timeout = -1;
    if (killing()) {
        timeout = static_cast<int>(kill_again.count());
    } else if (kill_at_) {
        const auto left = std::chrono::ceil<milliseconds>(*kill_at_ - Clock::now()).count();
        timeout = static_cast<int>(std::max<decltype(left)>(left, 0));
    }
    const auto wanted = [](int fd, bool want, short what) { return pollfd{want ? fd : -1, what, 0}; };
    pollfd fds[] = {wanted(0, !doomed_, POLLIN),
                    wanted(signals_.get(), true, POLLIN),
                    wanted(output_.get(), notices_.size() < backlog_bytes, POLLIN),
                    wanted(1, !doomed_ && !notices_.empty(), POLLOUT),
                    wanted(preloader_ ? preloader_->socket() : -1, true, POLLIN),
                    wanted(preloader_ ? preloader_->output.get() : -1, notices_.size() < backlog_bytes, POLLIN)};
    if (::poll(fds, std::size(fds), timeout) < 0) return;
    if (fds[0].revents != 0) take_orders();
    if (fds[1].revents != 0) take_signals();
    if (preloader_ && fds[5].revents != 0) take_from(preloader_->output, chunk_bytes);
    if (preloader_ && fds[4].revents != 0) hear_preloader();
    if (fds[2].revents != 0) take_from(output_, chunk_bytes);
    if (kill_at_ && Clock::now() >= *kill_at_) kill_ordered_ = true;
}

void Supervisor::take_signals() {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGTERM) doomed_ = true;
}

void Supervisor::take_orders() {
    char buffer[chunk_bytes];
    const ssize_t size = ::read(0, buffer, sizeof buffer);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const bool sound =
        size > 0 && orders_.feed({buffer, static_cast<std::size_t>(size)},
                                 [&](std::uint32_t kind, std::string_view text) { carry_out(kind, text); });
    if (!sound) doomed_ = true;
}

void Supervisor::carry_out(std::uint32_t kind, std::string_view payload) {
    // Of a worker that runs the orchestrator may have heard before this process was given time to.
    if (pending_ && !clearing_) hear_preloader();
    switch (static_cast<Order>(kind)) {
        case Order::start:
            if (worker_ == 0 && !pending_ && !doomed_) start(unpack_start(payload));
            break;
        case Order::terminate:
            if (pending_) kill_ordered_ = true, give_preloader_up();
            // The worker is not reaped, so that its pid and its group are its own still.
            if (worker_ == 0 || ended_) break;
            ::kill(-worker_, SIGTERM);
            kill_at_ = Clock::now() + milliseconds(std::atoll(std::string(payload).c_str()));
            break;
        case Order::kill:
            if (pending_) give_preloader_up();
            kill_ordered_ = worker_ != 0 || pending_;
            break;
    }
}

void Supervisor::start(Start start) {
    kill_ordered_ = false;
    if (!start.preload.empty() && preloads_) {
        if (!preloader_) preloader_.emplace(start);
        if (preloader_->ready()) pending_output_ = preloader_->order(start);
        pending_ = std::move(start);
        if (!pending_output_) give_preloader_up();
        return;
    }
    start_by_command(start);
}

void Supervisor::start_by_command(const Start& start) {
    Child child = start_child(start);
    if (child.pid == 0)
        notices_ += frame(Notice::failed, pack({std::to_string(child.error), child.failed}));
    else
        began(child.pid, std::move(child.output));
}

void Supervisor::began(pid_t pid, Descriptor output) {
    worker_ = pid;
    output_ = std::move(output);
    ended_ = childless_ = false;
    kill_at_.reset();
    kills_before_ = out_of_memory_kills();
}

void Supervisor::hear_preloader() {
    const auto running = preloader_->listen();
    if (running && pending_) {
        pending_.reset();
        began(*running, std::move(pending_output_));
    }
    if (!preloader_->problem().empty()) give_preloader_up();
}

/// From now on each worker is started by its command. What it has forked and nobody took ends with it.
void Supervisor::give_preloader_up() {
    if (!preloads_ || !preloader_) return;
    preloads_ = false;
    take_from(preloader_->output, last_output_bytes);
    const std::string why = preloader_->problem().empty() ? "its imports had not ended" : preloader_->problem();
    notices_ +=
        frame(Notice::remark, "worker.preload is not used, each trial starts an interpreter of its own: " + why);
    preloader_->end();
    // A worker may have been forked already that nobody has heard of.
    clearing_ = pending_.has_value();
    if (!clearing_) preloader_.reset();
}

/// Nothing is left of the preloader, nor of what was ordered from it.
void Supervisor::cleared() {
    clearing_ = false;
    preloader_.reset();
    pending_output_.reset();
    const Start start = *std::exchange(pending_, std::nullopt);
    if (kill_ordered_)
        notices_ += frame(Notice::exited, pack({"0", std::to_string(SIGKILL), "0", "0"}));
    else
        start_by_command(start);
}

void Supervisor::take_from(Descriptor& output, std::size_t most) {
    char buffer[chunk_bytes];
    for (std::size_t taken = 0; output && taken < most;) {
        const ssize_t size = ::read(output.get(), buffer, sizeof buffer);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) return output.reset();
        taken += static_cast<std::size_t>(size);
        notices_ += frame(Notice::output, {buffer, static_cast<std::size_t>(size)});
    }
}

/// Takes in who has died: the worker, and orphans that came to us as their sub-reaper.
void Supervisor::reap() {
    if (worker_ != 0 && !ended_) {
        // While the worker is a zombie, its process group cannot be another's: its members die with it, all at once.
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(worker_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid != 0)
            ::kill(-worker_, SIGKILL);
    }
    for (;;) {
        int status = 0;
        rusage usage{};
        const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
        if (pid < 0 && errno == EINTR) continue;
        if (pid <= 0) {
            childless_ = pid < 0;
            break;
        }
        // It may be the worker that was ordered, or the preloader: what they said comes before their end.
        if (preloader_ && !clearing_) hear_preloader();
        if (preloader_) preloader_->reaped(pid, status);
        if (pid != worker_) continue;
        ended_ = true;
        status_ = status;
        usage_ = usage;
    }
    if (preloader_ && preloads_ && !preloader_->ready()) give_preloader_up();
    if (clearing_ && childless_ && !doomed_) return cleared();
    if (worker_ != 0 && ended_ && (childless_ || left_of_worker().empty()))
        tell_end();
    else if (killing())
        kill_children();
}

/// Children alone, of whatever depth they came from: they cannot be reaped behind our back, so that no pid here is a
/// stranger's. Their own children come to us when they die.
std::vector<pid_t> Supervisor::left_of_worker() {
    std::vector<pid_t> children = children_of(::getpid());
    if (doomed_ || clearing_ || !preloader_) return children;
    // What is the preloader's own was told before it became our child.
    (void)preloader_->listen();
    std::erase_if(children, [this](pid_t pid) { return preloader_->keeps(pid); });
    return children;
}

/// A group dies in one stroke, which no fork outruns.
void Supervisor::kill_children() {
    for (const pid_t pid : left_of_worker()) {
        const pid_t group = ::getpgid(pid);
        if (group > 0 && group != ::getpgrp()) ::kill(-group, SIGKILL);
        ::kill(pid, SIGKILL);
    }
}

void Supervisor::tell_end() {
    take_from(output_, last_output_bytes);
    output_.reset();
    const int signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
    // A shell that was the worker tells its program's signal so.
    const bool killed = signal == SIGKILL || (WIFEXITED(status_) && WEXITSTATUS(status_) == 128 + SIGKILL);
    const bool no_memory = killed && !kill_ordered_ && out_of_memory_kills() > kills_before_;
    notices_ += frame(Notice::exited,
                      pack({std::to_string(WIFEXITED(status_) ? WEXITSTATUS(status_) : 0), std::to_string(signal),
                            no_memory ? "1" : "0", std::to_string(static_cast<long long>(usage_.ru_maxrss) * 1024)}));
    worker_ = 0;
    kill_at_.reset();
}

void Supervisor::flush() {
    while (!notices_.empty()) {
        const ssize_t size = ::write(1, notices_.data(), notices_.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size < 0) {
            doomed_ = true;
            notices_.clear();
            return;
        }
        notices_.erase(0, static_cast<std::size_t>(size));
    }
}

}  // namespace
}  // namespace hpo::supervisor

namespace hpo {

int run_supervisor(int argc, char** argv) {
    supervisor::limit_children(soft_limits_from(argc, argv, 2));
    return supervisor::Supervisor().run();
}

}  // namespace hpo
