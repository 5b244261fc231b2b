// The orchestrator's end of one supervisor: starts it, sends orders, takes notices, and notices its end.
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
    struct Events {
        std::function<void(supervisor::Notice, std::string_view)> notice;
        std::function<void()> gone;  ///< the supervisor is dead and reaped; nothing follows
    };

    SupervisorLink(boost::asio::io_context& loop, Events events);
    ~SupervisorLink();

    /// Executes `program __warden` with HPO_MARK=mark; `limits` are those of workers. 0, or the errno of what failed.
    int start(const std::filesystem::path& program, const std::string& tag, const SoftLimits& limits);
    void order(supervisor::Order order, std::string_view payload = {});
    /// Closes the pipe, upon which the supervisor kills all below it and exits. No more events.
    void close();
    /// After close(): blocks until it has exited and reaps it. False: it is stuck.
    bool wait(std::chrono::steady_clock::time_point deadline);
    /// After close(): KILL to the supervisor itself.
    void destroy();

   private:
    void read();
    void write();
    void ended();
    void await_end(std::chrono::milliseconds pause);
    bool reaped();

    Events events_;
    pid_t pid_ = 0;  ///< a child that was not reaped: nobody else's; 0: none
    boost::asio::steady_timer timer_;
    boost::asio::posix::stream_descriptor orders_;
    boost::asio::posix::stream_descriptor notices_;
    supervisor::FrameReader frames_;
    std::string buffer_;
    std::string queued_;
    std::string writing_;
};

}  // namespace hpo
