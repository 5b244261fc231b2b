#include "orchestrator/execution/wake_up.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

namespace hpo {

WakeUp::WakeUp(boost::asio::io_context& loop, std::function<void()> woken) : read_end_(loop), woken_(std::move(woken)) {
    Descriptor read_end;
    if (!make_pipe(read_end, write_end_))
        throw std::system_error(errno, std::generic_category(), "a pipe to wake the event loop");
    // A full pipe wakes as well.
    for (const Descriptor* end : {&read_end, &write_end_}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
    read_end_.assign(read_end.release());
    listen();
}

void WakeUp::wake() const noexcept {
    const unsigned char byte = 0;
    while (::write(write_end_.get(), &byte, 1) < 0 && errno == EINTR) {
    }
}

void WakeUp::listen() {
    read_end_.async_read_some(boost::asio::buffer(bytes_), [this](auto error, std::size_t) {
        if (error) return;
        listen();
        woken_();
    });
}

}  // namespace hpo
