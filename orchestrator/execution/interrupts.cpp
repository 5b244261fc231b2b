#include "orchestrator/execution/interrupts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>

#include "hpo/descriptor.hpp"
#include "hpo/interrupted.hpp"
#include "orchestrator/execution/system.hpp"

namespace hpo {
namespace {

constexpr std::array taken{SIGINT, SIGTERM, SIGHUP, SIGALRM};
std::array<struct sigaction, taken.size()> before;

// State of the handlers below, which call only functions that are async-signal-safe.
int write_end = -1;
std::chrono::milliseconds patience{0};
std::atomic<bool> leaving{false};

void handle_signal(int number) {
    const int kept = errno;
    int none = 0;
    const bool first = interrupted_by.compare_exchange_strong(none, number);
    if (!first && number != SIGHUP && !leaving.exchange(true)) system::ring_alarm_in(patience);
    const auto byte = static_cast<unsigned char>(number);
    (void)!::write(write_end, &byte, 1);
    errno = kept;
}

void on_last_resort(int) {
    static constexpr std::string_view text = "hpo: exited at once; the next run ends the processes that are left\n";
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 1) (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(exit_status_of(interrupted_by));
}

// A signal has ended the session, whose report is still to be printed; a further signal cuts that short.
void handle_later_signal(int) { ::_exit(exit_status_of(interrupted_by)); }

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

void heed_interrupts() {
    for (const int number : {SIGINT, SIGTERM}) {
        struct sigaction now {};
        ::sigaction(number, nullptr, &now);
        if (now.sa_handler == SIG_IGN) ::signal(number, SIG_DFL);
    }
}

Interrupts::Interrupts(boost::asio::io_context& loop, std::function<void(int)> on_signal,
                       std::chrono::milliseconds leave_within)
    : signals_(loop), on_signal_(std::move(on_signal)) {
    Descriptor read_end, other_end;
    if (!make_pipe(read_end, other_end)) fail("a pipe for signals");
    for (const Descriptor* end : {&read_end, &other_end}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
    if (!system::make_alarm()) fail("a timer for signals");
    patience = leave_within;
    leaving = false;
    interrupted_by = 0;
    write_end = other_end.release();
    signals_.assign(read_end.release());

    // SA_RESTART is not set, so that a signal interrupts a system call that blocks.
    for (std::size_t i = 0; i < taken.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = taken[i] == SIGALRM ? on_last_resort : handle_signal;
        sigemptyset(&action.sa_mask);
        ::sigaction(taken[i], nullptr, &before[i]);
        outlives_terminal_ = outlives_terminal_ || (taken[i] == SIGHUP && before[i].sa_handler == SIG_IGN);
        if (taken[i] != SIGHUP || !outlives_terminal_) ::sigaction(taken[i], &action, nullptr);
    }
    listen();
    // The notice of the time limit came before this process handled SIGTERM; a later one raises SIGTERM itself.
    if (limit_is_near && interrupted_by == 0) ::raise(SIGTERM);
}

Interrupts::~Interrupts() {
    for (std::size_t i = 0; i < taken.size(); ++i) {
        const bool ends = interrupted_by != 0 && (taken[i] == SIGINT || taken[i] == SIGTERM);
        if (ends) before[i].sa_handler = handle_later_signal;
        ::sigaction(taken[i], &before[i], nullptr);
    }
    system::remove_alarm();
    ::close(std::exchange(write_end, -1));
}

void Interrupts::listen() {
    signals_.async_read_some(boost::asio::buffer(&byte_, 1), [this](auto error, std::size_t) {
        if (error) return;
        const int number = byte_;
        listen();
        on_signal_(number);
    });
}

}  // namespace hpo
