#include "orchestrator/execution/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
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
#include "orchestrator/execution/descendants.hpp"
#include "orchestrator/execution/frames.hpp"
#include "orchestrator/execution/kill_rounds.hpp"
#include "orchestrator/execution/preloader.hpp"
#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/execution/signal_queue.hpp"
#include "os/process.hpp"

namespace hpo::supervisor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t chunk_bytes = 64 * 1024;
/// Bytes of unsent events above which the worker's output is left in its pipe, so that the worker waits.
constexpr std::size_t backlog_bytes = 256 * 1024;
/// Limit of the output that is read after the worker's end. More would come from a process that is no descendant.
constexpr std::size_t last_output_bytes = 1024 * 1024;

constexpr const char* not_preloaded = "worker.preload is not used, each trial starts its own interpreter: ";

class Supervisor {
   public:
    int run();

   private:
    void wait_for_something();
    void take_signals();
    void take_orders();
    void execute(std::uint32_t kind, std::string_view payload);
    void start(Start start);
    void start_by_command(const Start& start);
    void worker_started(pid_t pid, Descriptor output);
    void read_preloader();
    void refuse_preloader();
    void give_preloader_up();
    void cleared();
    void take_from(Descriptor& output, std::size_t most);
    void reap();
    void kill_left();
    void tell_of_stuck(const std::vector<pid_t>& pids);
    [[nodiscard]] bool may_leave() const;
    void sweep_orphans();
    void report_exit();
    void flush();
    [[nodiscard]] bool killing() const { return doomed_ || clearing_ || (worker_ != 0 && (ended_ || kill_ordered_)); }

    SignalQueue signals_{SIGCHLD, SIGTERM};
    FrameReader orders_;
    std::string events_;   ///< not yet written
    bool doomed_ = false;  ///< the orchestrator is gone: kill, then exit
    bool childless_ = true;
    std::optional<Descendants> below_;
    KillRounds rounds_{1};

    pid_t worker_ = 0;  ///< 0 if there is none
    Descriptor output_;
    bool ended_ = false;  ///< the worker was reaped; descendants may still run
    bool kill_ordered_ = false;
    int status_ = 0;
    rusage usage_{};
    long long kills_before_ = 0;
    std::optional<Clock::time_point> kill_at_;  ///< end of the grace period

    std::optional<Preloader> preloader_;
    bool preloads_ = true;          ///< false once it could not be used
    std::optional<Start> pending_;  ///< worker that was ordered from it and does not run yet
    Descriptor pending_output_;
    bool clearing_ = false;  ///< the preloader was given up with a worker ordered: all its processes must end first
};

int Supervisor::run() {
    ::setsid();
    os::name_thread(supervisor_name);
    below_.emplace();
    rounds_ = KillRounds(below_->rounds());
    for (const int signal : {SIGPIPE, SIGHUP, SIGINT}) ::signal(signal, SIG_IGN);
    if (!signals_) return 1;
    for (const int fd : {0, 1}) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    while (!may_leave()) {
        wait_for_something();
        reap();
        flush();
    }
    sweep_orphans();
    return 0;
}

/// Sweeps once the orchestrator, or its agent, is gone. If another supervisor of it was killed too, only the remaining
/// ones can end its worker.
void Supervisor::sweep_orphans() {
    const char* tag = std::getenv(tag_variable);
    if (tag == nullptr) return;
    const std::string own = tag;
    sweep(own.substr(0, own.rfind(':')), std::chrono::seconds(1), Supervisors::spared);
}

void Supervisor::wait_for_something() {
    int timeout = -1;
    if (killing()) {
        timeout = static_cast<int>(rounds_.pause().count());
    } else if (kill_at_) {
        const auto left = std::chrono::ceil<milliseconds>(*kill_at_ - Clock::now()).count();
        timeout = static_cast<int>(std::max<decltype(left)>(left, 0));
    }
    const auto wanted = [](int fd, bool want, short what) { return pollfd{want ? fd : -1, what, 0}; };
    pollfd fds[] = {wanted(0, !doomed_, POLLIN),
                    wanted(signals_.descriptor(), true, POLLIN),
                    wanted(output_.get(), events_.size() < backlog_bytes, POLLIN),
                    wanted(1, !doomed_ && !events_.empty(), POLLOUT),
                    wanted(preloader_ ? preloader_->socket() : -1, true, POLLIN),
                    wanted(preloader_ ? preloader_->output.get() : -1, events_.size() < backlog_bytes, POLLIN)};
    if (::poll(fds, std::size(fds), timeout) < 0) return;
    if (fds[0].revents != 0) take_orders();
    if (fds[1].revents != 0) take_signals();
    if (preloader_ && fds[5].revents != 0) take_from(preloader_->output, chunk_bytes);
    if (preloader_ && fds[4].revents != 0) read_preloader();
    if (fds[2].revents != 0) take_from(output_, chunk_bytes);
    if (kill_at_ && Clock::now() >= *kill_at_) kill_ordered_ = true;
}

void Supervisor::take_signals() {
    for (const int signal : signals_.take())
        if (signal == SIGTERM) doomed_ = true;
}

void Supervisor::take_orders() {
    char buffer[chunk_bytes];
    const ssize_t size = ::read(0, buffer, sizeof buffer);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const bool sound =
        size > 0 && orders_.feed({buffer, static_cast<std::size_t>(size)},
                                 [&](std::uint32_t kind, std::string_view text) { execute(kind, text); });
    if (!sound) doomed_ = true;
}

void Supervisor::execute(std::uint32_t kind, std::string_view payload) {
    // The orchestrator may know of a running worker before this process has read the preloader's message about it.
    if (pending_ && !clearing_) read_preloader();
    switch (static_cast<Order>(kind)) {
        case Order::start:
            if (worker_ == 0 && !pending_ && !doomed_) start(unpack_start(payload));
            break;
        case Order::terminate:
            if (pending_) kill_ordered_ = true, give_preloader_up();
            // The worker was not reaped, so no other process can have its pid or its group.
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
    if (!start.preload.empty() && preloads_ && !below_->adopts()) refuse_preloader();
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
        events_ += frame(Event::failed, pack({std::to_string(child.error), child.failed}));
    else
        worker_started(child.pid, std::move(child.output));
}

void Supervisor::worker_started(pid_t pid, Descriptor output) {
    worker_ = pid;
    output_ = std::move(output);
    ended_ = childless_ = false;
    rounds_.begin();
    kill_at_.reset();
    kills_before_ = out_of_memory_kills();
}

void Supervisor::read_preloader() {
    const auto running = preloader_->read();
    if (running && pending_) {
        pending_.reset();
        worker_started(*running, std::move(pending_output_));
    }
    if (!preloader_->problem().empty()) give_preloader_up();
}

/// Forked workers become children of this process as orphans of the preloader.
void Supervisor::refuse_preloader() {
    preloads_ = false;
    events_ += frame(Event::notice, std::string(not_preloaded) + "the system has no sub-reapers, or refuses them");
}

/// Starts each further worker by its command. A process that was forked for a worker ends with the preloader.
void Supervisor::give_preloader_up() {
    if (!preloads_ || !preloader_) return;
    preloads_ = false;
    take_from(preloader_->output, last_output_bytes);
    const std::string why = preloader_->problem().empty() ? "its imports had not ended" : preloader_->problem();
    events_ += frame(Event::notice, std::string(not_preloaded) + why);
    preloader_->end();
    // The preloader may have forked a worker already without having reported it.
    clearing_ = pending_.has_value();
    if (!clearing_) preloader_.reset();
}

/// Goes on once no process of the preloader and of the worker ordered from it is left.
void Supervisor::cleared() {
    clearing_ = false;
    preloader_.reset();
    pending_output_.reset();
    const Start start = *std::exchange(pending_, std::nullopt);
    if (kill_ordered_)
        events_ += frame(Event::exited, pack({"0", std::to_string(SIGKILL), "0", "0"}));
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
        events_ += frame(Event::output, {buffer, static_cast<std::size_t>(size)});
    }
}

/// Reaps the worker and the orphans that this process has inherited as their sub-reaper.
void Supervisor::reap() {
    if (worker_ != 0 && !ended_) {
        // As long as the worker is a zombie, no other process group can have its id: all members are killed at once.
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
        // The process may be the ordered worker or the preloader, whose messages are read before its end is handled.
        if (preloader_ && !clearing_) read_preloader();
        if (preloader_) preloader_->reaped(pid, status);
        if (pid != worker_) continue;
        ended_ = true;
        status_ = status;
        usage_ = usage;
    }
    if (preloader_ && preloads_ && !preloader_->ready()) give_preloader_up();
    if (clearing_ && childless_ && !doomed_) return cleared();
    if (killing()) kill_left();
    if (worker_ != 0 && ended_ && rounds_.none_left()) report_exit();
}

void Supervisor::kill_left() {
    const bool keeps_preloader = preloader_ && !doomed_ && !clearing_;
    const auto keeps = [&](pid_t pid) {
        if (!keeps_preloader) return false;
        // The preloader reports a process of its own before that becomes a child of this process.
        (void)preloader_->read();
        return preloader_->keeps(pid);
    };
    const auto found = below_->adopts() && childless_ ? std::vector<pid_t>() : below_->kill(keeps);
    rounds_.took(Clock::now(), found.size());
    if (rounds_.tells_of_stuck()) tell_of_stuck(found);
}

void Supervisor::tell_of_stuck(const std::vector<pid_t>& pids) {
    std::string text;
    for (const pid_t pid : pids) text += (text.empty() ? "" : ", ") + std::to_string(pid);
    events_ += frame(Event::notice, "SIGKILL has not ended what a worker has left (process " + text + ") for " +
                                        std::to_string(KillRounds::stuck_after.count()) +
                                        " s: the kernel holds it (state D in ps), or it belongs to another user. Its "
                                        "memory and its place are free when it is gone");
}

/// Returns true once the orchestrator is gone and nothing is left that another round of killing could end.
bool Supervisor::may_leave() const {
    if (!doomed_) return false;
    return rounds_.hopeless() || (childless_ && (below_->adopts() || rounds_.none_left()));
}

void Supervisor::report_exit() {
    take_from(output_, last_output_bytes);
    output_.reset();
    const int signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
    const bool no_memory = status_ != 0 && !kill_ordered_ && out_of_memory_kills() > kills_before_;
    events_ += frame(Event::exited,
                     pack({std::to_string(WIFEXITED(status_) ? WEXITSTATUS(status_) : 0), std::to_string(signal),
                           no_memory ? "1" : "0", std::to_string(os::largest_resident(usage_))}));
    worker_ = 0;
    kill_at_.reset();
}

void Supervisor::flush() {
    while (!events_.empty()) {
        const ssize_t size = ::write(1, events_.data(), events_.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size < 0) {
            doomed_ = true;
            events_.clear();
            return;
        }
        events_.erase(0, static_cast<std::size_t>(size));
    }
}

}  // namespace
}  // namespace hpo::supervisor

namespace hpo {

int run_supervisor(int argc, char** argv, supervisor::OwnCommand own) {
    supervisor::limit_children(soft_limits_from(argc, argv, 2));
    supervisor::run_in_children(own, argc, argv);
    return supervisor::Supervisor().run();
}

}  // namespace hpo
