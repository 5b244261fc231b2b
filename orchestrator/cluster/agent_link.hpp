// The orchestrator's end of an agent: the process that starts it (itself, ssh or srun) and the frames through it. An
// agent that has joined by itself has no process here.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "orchestrator/cluster/messages.hpp"
#include "orchestrator/cluster/stream.hpp"

namespace hpo::cluster {

/// How an agent has ended, of which its host knows no more than the reason.
enum class AgentEnd {
    failed,
    in_vain,      ///< as it would once more: the host has no hpo that it can run, or another version
    unreachable,  ///< ssh or srun did not get to its host, or the network was silent
};

class AgentLink : public std::enable_shared_from_this<AgentLink> {
   public:
    struct Callbacks {
        std::function<void(FromAgent&&)> message;
        /// Called when the process has ended, or was killed because it sent no valid frames. No call follows.
        std::function<void(const std::string& why, AgentEnd end)> gone;
    };

    AgentLink(boost::asio::io_context& loop, Callbacks callbacks);
    ~AgentLink();

    /// Starts the command in a session of its own, so that signals of the terminal (Ctrl-C) reach the orchestrator
    /// alone. Returns an errno.
    int start(const std::vector<std::string>& command);
    /// Takes over an agent that another process has started: bytes written to `orders` reach it, and `events` ends when
    /// it has ended.
    void adopt(Descriptor orders, Descriptor events);
    void send(const ToAgent& message);
    /// Closes the agent's standard input, at which it ends its workers and itself. No callback follows.
    void close();
    /// Returns false if the process has not ended by then.
    bool wait(std::chrono::steady_clock::time_point deadline);
    /// Sends SIGKILL to the process; gives an adopted agent up.
    void destroy();

   private:
    void begin(Descriptor orders, Descriptor events);
    void read();
    void read_errors();
    void write_soon();
    void write();
    void answer_soon();
    void ended();
    void await_end(std::chrono::milliseconds pause, std::chrono::milliseconds left);
    bool reaped();
    bool drained(std::chrono::steady_clock::time_point deadline);
    void report();
    [[nodiscard]] AgentEnd how() const;
    [[nodiscard]] bool has_another_version() const;
    [[nodiscard]] std::string why() const;

    Callbacks callbacks_;
    boost::asio::steady_timer timer_, answerer_;
    boost::asio::posix::stream_descriptor orders_, events_, errors_;
    StreamReader stream_;
    std::string error_buffer_, queued_, writing_;
    std::string program_;   ///< of the command
    std::string printed_;   ///< the last of its standard error
    std::string wrong_;     ///< why its frames were refused
    Descriptor ends_with_;  ///< of an adopted agent: the descriptor of its events once more, which close() leaves open
    bool writes_soon_ = false;
    bool answers_ = false;  ///< each frame at once, so that the next one does not wait on the way
    bool owes_answer_ = false;
    bool is_undelayed_ = false;  ///< as far as the connection below the process can be
    pid_t pid_ = 0;
    int status_ = 0;  ///< as waitpid gives it
};

}  // namespace hpo::cluster
