// Handles SIGINT, SIGTERM and SIGHUP in the event loop. Two of them end the process even when the loop is blocked.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>

namespace hpo {

/// Makes SIGINT and SIGTERM end a process that was started with them ignored, as a shell without job control starts
/// commands in the background. Interrupts takes both signals in any case: one that comes earlier is not lost.
void heed_interrupts();

class Interrupts {
   public:
    /// Makes the loop call `on_signal` for each signal until destruction; the first one is also stored in
    /// `interrupted_by` (hpo/interrupted.hpp). After a second signal other than SIGHUP the process has `leave_within`
    /// to end by itself; then it exits at once with the status of the first: events are stored already, and supervisors
    /// kill their workers. A SIGHUP that was ignored at the start (nohup) stays ignored. A process has at most one
    /// Interrupts at a time. Throws std::system_error if there are no descriptors or timers left.
    Interrupts(boost::asio::io_context& loop, std::function<void(int signal)> on_signal,
               std::chrono::milliseconds leave_within = std::chrono::milliseconds(900));
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    /// Returns true if SIGHUP was ignored at the start: the program is meant to outlive its terminal then.
    [[nodiscard]] bool outlives_terminal() const { return outlives_terminal_; }

   private:
    void listen();

    boost::asio::posix::stream_descriptor signals_;
    std::function<void(int)> on_signal_;
    unsigned char byte_ = 0;
    bool outlives_terminal_ = false;
};

}  // namespace hpo
