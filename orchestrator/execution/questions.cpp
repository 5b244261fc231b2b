#include "orchestrator/execution/questions.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "hpo/doing.hpp"

namespace hpo {
namespace {

struct sigaction before_questions;

// State of the handler, which calls only functions that are async-signal-safe.
int asking_end = -1;
std::atomic<bool> has_listener{false};
std::atomic<std::int64_t> asked_at{0};  ///< the first question that was not answered; 0: all were

/// Text of fixed size, for the handler: the C library's formatting is not for signal handlers.
class Line {
   public:
    Line& add(const char* text) {
        const std::size_t size = std::min(std::strlen(text), sizeof text_ - size_);
        std::memcpy(text_ + size_, text, size);
        size_ += size;
        return *this;
    }
    /// "12.3 s"
    Line& add_seconds(std::int64_t ms) {
        char digits[32];
        std::size_t at = sizeof digits;
        digits[--at] = '\0';
        std::int64_t tenths = ms / 100;
        for (int n = 0; n < 2 || tenths > 0; ++n, tenths /= 10) {
            if (n == 1) digits[--at] = '.';
            digits[--at] = static_cast<char>('0' + tenths % 10);
        }
        return add(digits + at).add(" s");
    }
    /// A reader that has stopped reading does not hold the process up.
    void write() {
        add("\n");
        pollfd ready{STDERR_FILENO, POLLOUT, 0};
        if (::poll(&ready, 1, 0) == 1) (void)!::write(STDERR_FILENO, text_, size_);
    }

   private:
    char text_[512];
    std::size_t size_ = 0;
};

void on_question(int) {
    const int kept = errno;
    const std::int64_t now = monotonic_ms();
    if (const char* doing = doing_now)
        Line().add("hpo: ").add(doing).add(", for ").add_seconds(now - doing_since).write();
    else if (!has_listener)
        Line().add("hpo: computes, and waits for nothing").write();
    std::int64_t none = 0;
    if (has_listener && !asked_at.compare_exchange_strong(none, now))
        Line().add("hpo: its event loop has not answered for ").add_seconds(now - none).write();
    const unsigned char byte = 0;
    (void)!::write(asking_end, &byte, 1);
    errno = kept;
}

}  // namespace

Questions::Questions() {
    Descriptor other_end;
    if (!make_pipe(read_end_, other_end))
        throw std::system_error(errno, std::generic_category(), "a pipe for questions");
    for (const Descriptor* end : {&read_end_, &other_end}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
    asking_end = other_end.release();
    asked_at = 0;
    struct sigaction action {};
    action.sa_handler = on_question;
    action.sa_flags = SA_RESTART;  // SIGQUIT must not interrupt system calls
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGQUIT, &action, &before_questions);
}

Questions::~Questions() {
    ::sigaction(SIGQUIT, &before_questions, nullptr);
    ::close(std::exchange(asking_end, -1));
}

Questions::Listener::Listener(Questions& questions, boost::asio::io_context& loop, std::function<void()> answer)
    : asked_(loop, ::fcntl(questions.read_end_.get(), F_DUPFD_CLOEXEC, 0)), answer_(std::move(answer)) {
    has_listener = true;
    listen();
}

Questions::Listener::~Listener() {
    has_listener = false;
    asked_at = 0;
}

/// Questions that were asked in the meantime get one answer.
void Questions::Listener::listen() {
    asked_.async_read_some(boost::asio::buffer(bytes_), [this](auto error, std::size_t) {
        if (error) return;
        answer_();
        asked_at = 0;
        listen();
    });
}

}  // namespace hpo
