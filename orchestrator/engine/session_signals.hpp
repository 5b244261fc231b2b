// Ends a session on signals: gently on the first one, by killing its workers on a second SIGINT or SIGTERM.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "hpo/event.hpp"
#include "orchestrator/execution/interrupts.hpp"

namespace hpo {

class SessionSignals {
   public:
    struct Actions {
        std::function<void(const std::string& reason, SessionEnd how)> interrupt;
        std::function<void()> kill;  ///< all workers
        /// Returns why nothing can be written to standard output; empty: it can, or the terminal is gone.
        std::function<std::string()> output_problem;
    };
    /// Heeds signals until destruction.
    SessionSignals(boost::asio::io_context& loop, Actions actions);

    /// Ends the session as this signal does.
    void on_signal(int number);
    /// Ends the session as the loss of its terminal does, unless it is meant to outlive it, or a signal came before.
    void on_closed_output();

    /// Returns the signal that ended the session; 0: none did.
    [[nodiscard]] int number() const { return number_; }
    /// Returns true once processes that were killed and do not end are not waited for any longer.
    [[nodiscard]] bool gives_up() const { return gives_up_; }

   private:
    Actions actions_;
    Interrupts interrupts_;
    boost::asio::steady_timer killer_;
    int number_ = 0;
    bool gives_up_ = false;
};

}  // namespace hpo
