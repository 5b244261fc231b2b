// SIGINT, SIGTERM and SIGHUP, heard in the event loop, and in spite of it: whatever the loop is held up by, two of them
// end the process.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>

namespace hpo {

class Interrupts {
   public:
    /// From now until destruction signals are told to `hear`, from the loop, and the first one to `interrupted_by`
    /// (hpo/interrupted.hpp). A second one (SIGHUP apart) leaves the process `leave_within` to end by itself; then it
    /// exits as it is, with the first one's status: what is stored is stored, and supervisors kill what is theirs. A
    /// SIGHUP that was ignored at the start (nohup) stays so. One at a time in a process; throws std::system_error
    /// where there are no descriptors or timers.
    Interrupts(boost::asio::io_context& loop, std::function<void(int signal)> hear,
               std::chrono::milliseconds leave_within = std::chrono::milliseconds(900));
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    /// SIGHUP was ignored at the start: the program is meant to outlive its terminal.
    [[nodiscard]] bool outlives_terminal() const { return outlives_terminal_; }

   private:
    void listen();

    boost::asio::posix::stream_descriptor signals_;
    std::function<void(int)> hear_;
    unsigned char byte_ = 0;
    bool outlives_terminal_ = false;
};

}  // namespace hpo
