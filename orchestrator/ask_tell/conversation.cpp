#include "orchestrator/ask_tell/conversation.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

#include "hpo/doing.hpp"
#include "hpo/interrupted.hpp"
#include "hpo/or_fail.hpp"
#include "os/pipe.hpp"

namespace hpo::ask_tell {

namespace {

constexpr std::size_t max_unread = std::size_t{64} << 20;  // bytes of answers
constexpr int serve_again_ms = 100;                        // once no descriptor was left for a client

int signal_pipe[2] = {-1, -1};

}  // namespace

void wake_on_signals() {
    if (!os::open_pipe(signal_pipe, os::Calls::return_at_once))
        throw Fatal(std::string("cannot create a pipe for signals: ") + std::strerror(errno));
    struct sigaction wakes_loop {};
    wakes_loop.sa_handler = [](int number) {
        const int saved = errno;
        interrupted_by = number;
        (void)!::write(signal_pipe[1], "", 1);
        errno = saved;
    };
    wakes_loop.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction previous {};
        ::sigaction(number, nullptr, &previous);
        if (previous.sa_handler != SIG_IGN) ::sigaction(number, &wakes_loop, nullptr);
    }
    // A closed pipe and a limit on file sizes should make the write fail, not kill the process.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

std::string Conversation::run(std::string& failure) {
    while (!ended_ || !out_.empty()) {
        const bool full = out_.size() >= max_unread;
        std::vector<pollfd> ready{{STDIN_FILENO, static_cast<short>(ended_ || full ? 0 : POLLIN), 0},
                                  {STDOUT_FILENO, static_cast<short>(out_.empty() ? 0 : POLLOUT), 0},
                                  {signal_pipe[0], POLLIN, 0}};
        if (control_) ready.push_back({control_served_ ? control_->descriptor() : -1, POLLIN, 0});
        if (ended_ || full) ready[0].fd = -1;
        if (out_.empty()) ready[1].fd = -1;
        std::optional<Doing> waiting(std::in_place, out_.empty() ? "waits for requests on standard input"
                                                                 : "waits for the reader of its answers");
        const bool polled = ::poll(ready.data(), ready.size(), control_served_ ? -1 : serve_again_ms) >= 0;
        if (!polled && !shortage_.try_again_after(errno))
            return failure = std::strerror(errno), "the input could not be read";
        waiting.reset();
        if (interrupted_by != 0) return interrupted_by == SIGINT ? "interrupted" : "terminated";
        if (!polled) continue;
        control_served_ = !control_ || control_->serve();
        if (ready[1].revents != 0 && !write_some(failure)) return "nobody reads the answers";
        if (ready[0].fd >= 0 && ready[0].revents != 0 && !read_some(failure)) return "the input could not be read";
        if (!in_place_()) return failure = "the study's folder was moved or removed", failure;
    }
    return "the input ended";
}

/// Writes up to PIPE_BUF bytes, which cannot block once poll() has reported the pipe as writable.
bool Conversation::write_some(std::string& failure) {
    const auto size = ::write(STDOUT_FILENO, out_.data(), std::min<std::size_t>(out_.size(), PIPE_BUF));
    if (size < 0) {
        if (shortage_.try_again_after(errno)) return true;
        if (errno != EPIPE) failure = std::string("cannot write to standard output: ") + std::strerror(errno);
        return false;
    }
    shortage_.over();
    out_.erase(0, static_cast<std::size_t>(size));
    return true;
}

bool Conversation::read_some(std::string& failure) {
    std::array<char, 1 << 16> bytes{};
    const auto size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size < 0 && shortage_.try_again_after(errno)) return true;
    if (size < 0) return failure = std::strerror(errno), false;
    shortage_.over();
    ended_ = size == 0;
    if (ended_ && !lines_.rest().empty()) take(lines_.rest());  // the last line may have no newline
    lines_.feed({bytes.data(), static_cast<std::size_t>(size)}, [this](std::string_view line) { take(line); });
    store_();
    report_dropped();
    return true;
}

void Conversation::take(std::string_view line) {
    report_dropped();
    out_ += answer(session_, line, ++number_);
}

void Conversation::report_dropped() {
    for (; dropped_ < lines_.dropped(); ++dropped_)
        out_ += error_line("a line is at most " + std::to_string(longest_line) + " bytes long", ++number_);
}

}  // namespace hpo::ask_tell
