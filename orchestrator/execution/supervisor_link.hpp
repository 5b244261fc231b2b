// The orchestrator's end of one supervisor: starts it, sends orders, receives events and notices its end.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "orchestrator/execution/frames.hpp"
#include "orchestrator/execution/limits.hpp"

namespace hpo {

class SupervisorLink : public std::enable_shared_from_this<SupervisorLink> {
   public:
    struct Callbacks {
        std::function<void(supervisor::Event, std::string_view payload)> event;
        /// The supervisor was reaped; no callback follows. `error` is 0, or the errno with which its program could not
        /// be executed.
        std::function<void(int error)> gone;
    };

    SupervisorLink(boost::asio::io_context& loop, Callbacks callbacks);
    ~SupervisorLink();

    /// Executes `program __supervisor` with HPO_TAG=tag and the soft limits of workers. Returns 0 or the errno of the
    /// step that failed.
    int start(const std::filesystem::path& program, const std::string& tag, const SoftLimits& limits);
    void order(supervisor::Order order, std::string_view payload = {});
    /// Closes the pipe, upon which the supervisor kills all its descendants and exits. No callback follows.
    void close();
    /// Blocks until the supervisor has exited and was reaped. Returns false at the deadline. Call it after close().
    bool wait(std::chrono::steady_clock::time_point deadline);
    /// Sends SIGKILL to the supervisor itself. Call it after close().
    void destroy();

   private:
    void read();
    void write();
    void ended();
    void await_end(std::chrono::milliseconds pause);
    void sweep_session();
    bool reaped();

    Callbacks callbacks_;
    pid_t pid_ = 0;  ///< a child that was not reaped; 0 if there is none
    std::filesystem::path program_;
    int error_ = 0;  ///< with which the program could not be executed
    boost::asio::steady_timer timer_;
    boost::asio::posix::stream_descriptor orders_;
    boost::asio::posix::stream_descriptor events_;
    supervisor::FrameReader frames_;
    std::string buffer_;
    std::string queued_;
    std::string writing_;
};

}  // namespace hpo
