// Receives signals in a loop that polls: their handler writes to a pipe.
#pragma once

#include <csignal>
#include <initializer_list>
#include <vector>

#include "hpo/descriptor.hpp"

namespace hpo {

/// From construction to destruction, receives the given signals of this process, also where they were blocked. Calls
/// that they interrupt are restarted, except poll(). At most one object may exist at a time.
class SignalQueue {
   public:
    /// An ignored SIGHUP stays ignored, as nohup wants it. Other ignored signals are received: a shell without job
    /// control starts commands in the background with SIGINT ignored. Without descriptors for the pipe, the object is
    /// empty, with errno, and no signal is taken from the process.
    explicit SignalQueue(std::initializer_list<int> signals);
    /// Restores mask and actions, and raises again the signals that nobody has taken.
    ~SignalQueue();
    SignalQueue(const SignalQueue&) = delete;
    SignalQueue& operator=(const SignalQueue&) = delete;

    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(read_end_); }
    /// Returns the descriptor that becomes readable when a signal arrives.
    [[nodiscard]] int descriptor() const { return read_end_.get(); }
    /// Returns the signals that have arrived since the last call, each of them once.
    std::vector<int> take();
    /// Restores mask and actions from before construction, in a child that was forked to execute another program.
    void restore() const;

   private:
    struct Watched {
        int signal;
        struct sigaction before;
    };

    Descriptor read_end_, write_end_;
    std::vector<Watched> watched_;
    sigset_t mask_before_{};
};

}  // namespace hpo
