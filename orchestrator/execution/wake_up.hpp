// Lets other threads wake the event loop, also where no memory is left.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "hpo/descriptor.hpp"

namespace hpo {

class WakeUp {
   public:
    /// `woken` is called from the loop, once for one or more calls of wake(). Throws std::system_error if there are no
    /// descriptors left.
    WakeUp(boost::asio::io_context& loop, std::function<void()> woken);
    WakeUp(const WakeUp&) = delete;
    WakeUp& operator=(const WakeUp&) = delete;

    /// For any thread. Allocates nothing.
    void wake() const noexcept;

   private:
    void listen();

    Descriptor write_end_;
    boost::asio::posix::stream_descriptor read_end_;
    std::function<void()> woken_;
    unsigned char bytes_[64] = {};
};

}  // namespace hpo
