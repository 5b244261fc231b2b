#include "orchestrator/execution/signal_queue.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace hpo {
namespace {

// State of the handler, which calls only functions that are async-signal-safe.
constexpr std::size_t most_signals = 65;
std::array<std::atomic<bool>, most_signals> arrived;
std::atomic<int> bell{-1};

/// Writes one byte for all signals that arrive before the next take(), so that the pipe never fills.
void note_signal(int number) {
    const int kept = errno;
    if (!arrived[static_cast<std::size_t>(number)].exchange(true)) (void)!::write(bell, "", 1);
    errno = kept;
}

}  // namespace

SignalQueue::SignalQueue(std::initializer_list<int> signals) {
    if (!make_pipe(read_end_, write_end_)) {
        const int error = errno;
        read_end_.reset();
        errno = error;
        return;
    }
    for (const Descriptor* end : {&read_end_, &write_end_}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
    for (auto& one : arrived) one = false;
    bell = write_end_.get();
    sigset_t taken;
    sigemptyset(&taken);
    for (const int signal : signals) {
        Watched watched{signal, {}};
        ::sigaction(signal, nullptr, &watched.before);
        if (watched.before.sa_handler == SIG_IGN && signal == SIGHUP) continue;
        struct sigaction action {};
        action.sa_handler = note_signal;
        action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
        sigemptyset(&action.sa_mask);
        ::sigaction(signal, &action, nullptr);
        watched_.push_back(watched);
        sigaddset(&taken, signal);
    }
    ::pthread_sigmask(SIG_UNBLOCK, &taken, &mask_before_);
}

SignalQueue::~SignalQueue() {
    if (!*this) return;
    restore();
    bell = -1;
    for (const int signal : take()) ::kill(::getpid(), signal);
}

void SignalQueue::restore() const {
    // The mask comes first: a signal that was blocked must not meet the action from before.
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    for (const Watched& watched : watched_) ::sigaction(watched.signal, &watched.before, nullptr);
}

std::vector<int> SignalQueue::take() {
    char bytes[16];
    while (::read(read_end_.get(), bytes, sizeof bytes) > 0) {
    }
    std::vector<int> signals;
    for (const Watched& watched : watched_)
        if (arrived[static_cast<std::size_t>(watched.signal)].exchange(false)) signals.push_back(watched.signal);
    return signals;
}

}  // namespace hpo
