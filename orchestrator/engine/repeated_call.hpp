// A function that the event loop calls again and again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <utility>

namespace hpo {

class RepeatedCall {
   public:
    /// The loop outlives this object, as does all that `action` refers to.
    RepeatedCall(boost::asio::io_context& loop, std::chrono::milliseconds pause, std::function<void()> action)
        : timer_(loop), pause_(pause), action_(std::move(action)) {}

    /// Calls the action now, and then whenever the pause has passed since its end, until destruction.
    void start() {
        action_();
        timer_.expires_after(pause_);
        timer_.async_wait([this](auto error) {
            if (!error) start();
        });
    }

   private:
    boost::asio::steady_timer timer_;
    std::chrono::milliseconds pause_;
    std::function<void()> action_;
};

}  // namespace hpo
