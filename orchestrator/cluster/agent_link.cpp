#include "orchestrator/cluster/agent_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <thread>

#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "orchestrator/cluster/codec.hpp"
#include "orchestrator/cluster/undelayed.hpp"
#include "orchestrator/cluster/why_ended.hpp"
#include "orchestrator/execution/spawn.hpp"

namespace hpo::cluster {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t most_printed = 4096;
constexpr milliseconds longest_pause{16};  ///< between two checks whether the process is gone
/// Time for a process whose output has ended; then it is killed.
constexpr milliseconds ends_within{2000};
/// Slurm sends a small message only when the one before it was confirmed, and the kernel at the other end confirms
/// after up to 40 ms unless it has something to send (Nagle's algorithm with delayed acknowledgements). At this end
/// srun is told to send at once; so that the other end can, an event to which no order is due within this time is
/// answered all the same.
constexpr milliseconds answered_within{1};

}  // namespace

AgentLink::AgentLink(asio::io_context& loop, Callbacks callbacks)
    : callbacks_(std::move(callbacks)),
      timer_(loop),
      answerer_(loop),
      orders_(loop),
      events_(loop),
      errors_(loop),
      error_buffer_(4096, '\0') {}

AgentLink::~AgentLink() = default;

int AgentLink::start(const std::vector<std::string>& command) {
    Descriptor orders_read, orders_write, events_read, events_write, errors_read, errors_write;
    if (!make_pipe(orders_read, orders_write) || !make_pipe(events_read, events_write) ||
        !make_pipe(errors_read, errors_write))
        return errno;
    program_ = command.front();
    answers_ = program_ == "srun";
    if (const int error = spawn({.command = command,
                                 .in = orders_read.get(),
                                 .out = events_write.get(),
                                 .error = errors_write.get(),
                                 .session = true},
                                pid_))
        return error;
    errors_.assign(errors_read.release());
    begin(std::move(orders_write), std::move(events_read));
    read_errors();
    return 0;
}

void AgentLink::adopt(Descriptor orders, Descriptor events) {
    ends_with_ = Descriptor(::fcntl(events.get(), F_DUPFD_CLOEXEC, 3));
    begin(std::move(orders), std::move(events));
}

void AgentLink::begin(Descriptor orders, Descriptor events) {
    orders_.assign(orders.release());
    events_.assign(events.release());
    boost::system::error_code ignored;
    events_.non_blocking(true, ignored);
    queued_ = encode(Opening{stream_version, version});
    write();
    read();
}

void AgentLink::read() {
    events_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code error) {
        if (!self->callbacks_.gone) return;
        const auto buffer = read_buffer();
        const std::size_t size = error ? 0 : self->events_.read_some(asio::buffer(buffer.data(), buffer.size()), error);
        if (error == asio::error::would_block) return self->read();
        const auto take = [&](std::uint8_t kind, std::string_view payload) {
            if (!self->wrong_.empty() || self->has_another_version()) return;
            // Callbacks are copied before they are called: a message may end this connection.
            auto message = decode_from_agent(kind, payload);
            if (!message)
                self->wrong_ = "its agent sent a message that is not understood";
            else if (const auto tell = self->callbacks_.message)
                tell(*std::move(message));
        };
        const bool valid = !error && self->stream_.feed({buffer.data(), size}, take);
        if (!error && !valid && self->wrong_.empty() && !self->has_another_version())
            self->wrong_ = "its program hpo does not answer as an agent: install this version there";
        if (!self->callbacks_.gone) return;
        self->answer_soon();
        if (!valid || !self->wrong_.empty() || self->has_another_version()) return self->ended();
        self->read();
    });
}

void AgentLink::read_errors() {
    errors_.async_read_some(asio::buffer(error_buffer_),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                                if (error) return;
                                self->printed_.append(self->error_buffer_, 0, size);
                                if (self->printed_.size() > most_printed)
                                    self->printed_.erase(0, self->printed_.size() - most_printed);
                                self->read_errors();
                            });
}

void AgentLink::send(const ToAgent& message) {
    if (!orders_.is_open()) return;
    queued_ += encode(message);
    owes_answer_ = false;
    if (queued_.size() > most_unread) {
        wrong_ = "it did not read its messages";
        return destroy();
    }
    write_soon();
}

/// Sends all messages of a round at once.
void AgentLink::write_soon() {
    if (std::exchange(writes_soon_, true)) return;
    asio::post(orders_.get_executor(), [self = shared_from_this()] {
        self->writes_soon_ = false;
        if (self->orders_.is_open() && self->writing_.empty() && !self->queued_.empty()) self->write();
    });
}

void AgentLink::answer_soon() {
    if (answers_ && stream_.opening() && !std::exchange(is_undelayed_, true)) send_without_delay(pid_);
    if (!answers_ || std::exchange(owes_answer_, true)) return;
    answerer_.expires_after(answered_within);
    answerer_.async_wait([self = shared_from_this()](error_code error) {
        if (!error && self->owes_answer_) self->send(to_agent::Heartbeat{});
    });
}

void AgentLink::write() {
    writing_ = std::exchange(queued_, {});
    asio::async_write(orders_, asio::buffer(writing_), [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_.clear();
        if (!error && self->orders_.is_open() && !self->queued_.empty()) self->write();
    });
}

/// The process may print why it ends until it has ended.
void AgentLink::ended() {
    error_code ignored;
    orders_.close(ignored);
    await_end(milliseconds(1), wrong_.empty() && !has_another_version() ? ends_within : milliseconds(0));
}

/// Polls, as SupervisorLink does.
void AgentLink::await_end(milliseconds pause, milliseconds left) {
    if (reaped()) return report();
    if (left.count() <= 0) destroy();
    timer_.expires_after(pause);
    timer_.async_wait([self = shared_from_this(), pause, left](error_code error) {
        if (!error) self->await_end(std::min(2 * pause, longest_pause), left - pause);
    });
}

void AgentLink::report() {
    // Its output may still be in the pipe.
    error_code error;
    if (errors_.is_open()) errors_.non_blocking(true, error);
    while (!error && errors_.is_open()) {
        const std::size_t size = errors_.read_some(asio::buffer(error_buffer_), error);
        if (error || size == 0) break;
        printed_.append(error_buffer_, 0, size);
    }
    const auto gone = std::move(callbacks_.gone);
    const std::string reason = why();
    const AgentEnd end = how();
    close();
    if (gone) gone(reason, end);
}

AgentEnd AgentLink::how() const {
    if (has_another_version()) return AgentEnd::in_vain;
    if (!wrong_.empty()) return AgentEnd::failed;
    if (heard_nothing(status_)) return AgentEnd::unreachable;
    if (stream_.opening()) return AgentEnd::failed;
    if (cannot_be_started(program_, status_)) return AgentEnd::in_vain;
    return cannot_reach(program_, status_) ? AgentEnd::unreachable : AgentEnd::failed;
}

/// Messages may change from one version to the next, so that both ends must be the same.
bool AgentLink::has_another_version() const {
    const auto& opening = stream_.opening();
    return opening && (opening->version != stream_version || opening->program != version);
}

std::string AgentLink::why() const {
    if (has_another_version()) {
        const std::string theirs = printable(stream_.opening()->program);
        return "it has hpo " + theirs + ", and this is hpo " + version +
               (theirs == version ? " of another build" : "") + ": install the same on all hosts";
    }
    if (!wrong_.empty()) return wrong_;
    std::string printed = telling_line(printed_);
    if (printed.empty() && !stream_.opening()) printed = telling_line(stream_.greeting());
    return why_ended(program_, status_, printed);
}

bool AgentLink::reaped() {
    while (pid_ != 0) {
        const pid_t ended = ::waitpid(pid_, &status_, WNOHANG);
        if (ended == 0) return false;
        if (ended > 0 || errno != EINTR) pid_ = 0;
    }
    return true;
}

void AgentLink::close() {
    callbacks_ = {};
    error_code ignored;
    timer_.cancel(ignored);
    answerer_.cancel(ignored);
    orders_.close(ignored);
    events_.close(ignored);
    errors_.close(ignored);
}

bool AgentLink::wait(std::chrono::steady_clock::time_point deadline) {
    if (ends_with_) return drained(deadline);
    for (milliseconds pause(1); !reaped(); pause = std::min(2 * pause, longest_pause)) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

/// Reads and drops the messages that an adopted agent still sends, until its end.
bool AgentLink::drained(std::chrono::steady_clock::time_point deadline) {
    const auto dropped = read_buffer();
    while (ends_with_) {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd events{ends_with_.get(), POLLIN, 0};
        const int ready = ::poll(&events, 1, static_cast<int>(std::max<milliseconds::rep>(0, left.count())));
        if (ready == 0) return false;
        if (ready < 0 && errno == EINTR) continue;
        const ssize_t size = ready < 0 ? 0 : ::read(ends_with_.get(), dropped.data(), dropped.size());
        if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) ends_with_.reset();
    }
    return true;
}

void AgentLink::destroy() {
    if (pid_ != 0) ::kill(pid_, SIGKILL);
    ends_with_.reset();
}

}  // namespace hpo::cluster
