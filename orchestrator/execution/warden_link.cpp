#include "orchestrator/execution/warden_link.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/process/v2/posix/default_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#include <cerrno>

#include "hpo/descriptor.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/execution/warden.hpp"

namespace hpo {
namespace asio = boost::asio;
namespace process = boost::process::v2;
using boost::system::error_code;

namespace {

/// Of one turn: what a worker that floods its output can hold the others up by.
constexpr std::size_t chunk_bytes = 64 * 1024;

std::vector<std::string> environment_with(const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::vector<std::string> all{entry};
    for (char** other = environ; *other != nullptr; ++other)
        if (!std::string_view(*other).starts_with(name)) all.emplace_back(*other);
    return all;
}

}  // namespace

struct WardenLink::Process {
    process::process handle;
};

WardenLink::WardenLink(asio::io_context& loop, Events events)
    : events_(std::move(events)), orders_(loop), notices_(loop), buffer_(chunk_bytes, '\0') {}

WardenLink::~WardenLink() = default;

int WardenLink::start(const std::filesystem::path& program, const std::string& mark) {
    Descriptor orders_read, orders_write, notices_read, notices_write;
    if (!make_pipe(orders_read, orders_write) || !make_pipe(notices_read, notices_write)) return errno;
    const std::vector<std::string> environment = environment_with(std::string(mark_variable) + "=" + mark);
    std::vector<const char*> envp;
    for (const auto& entry : environment) envp.push_back(entry.c_str());
    envp.push_back(nullptr);

    process::posix::default_launcher launcher;
    launcher.env = envp.data();
    error_code error;
    auto started = launcher(orders_.get_executor(), error, program.string(), std::vector<std::string>{warden_word},
                            process::process_stdio{orders_read.get(), notices_write.get(), {}});
    if (error) return error.value();
    process_ = std::make_unique<Process>(Process{std::move(started)});
    orders_.assign(orders_write.release());
    notices_.assign(notices_read.release());
    read();
    return 0;
}

void WardenLink::read() {
    notices_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](error_code error, std::size_t size) {
        if (!self->events_.gone) return;
        const auto take = [&](std::uint32_t kind, std::string_view payload) {
            if (self->events_.notice) self->events_.notice(static_cast<warden::Notice>(kind), payload);
        };
        if (error || !self->frames_.feed(std::string_view(self->buffer_).substr(0, size), take)) return self->ended();
        self->read();
    });
}

void WardenLink::ended() {
    error_code ignored;
    process_->handle.terminate(ignored);  // it is dying, or it says nonsense
    process_->handle.async_wait([self = shared_from_this()](error_code, int) {
        (void)self->process_->handle.detach();  // reaped: its pid may be another's
        const auto gone = std::move(self->events_.gone);
        self->close();
        if (gone) gone();
    });
}

void WardenLink::order(warden::Order order, std::string_view payload) {
    if (!orders_.is_open()) return;
    queued_ += warden::frame(order, payload);
    if (writing_.empty()) write();
}

void WardenLink::write() {
    writing_ = std::exchange(queued_, {});
    asio::async_write(orders_, asio::buffer(writing_), [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_.clear();
        if (!error && self->orders_.is_open() && !self->queued_.empty()) self->write();
    });
}

void WardenLink::close() {
    events_ = {};
    error_code ignored;
    orders_.close(ignored);
    notices_.close(ignored);
}

bool WardenLink::wait(std::chrono::steady_clock::time_point deadline) {
    if (!process_ || !process_->handle.is_open()) return true;
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process_->handle.id(), 0)));
    pollfd fd{handle.get(), POLLIN, 0};
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        const int ready = handle ? ::poll(&fd, 1, static_cast<int>(std::max<long>(left.count(), 0))) : 1;
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return false;
        error_code ignored;
        process_->handle.wait(ignored);
        (void)process_->handle.detach();
        return true;
    }
}

void WardenLink::destroy() {
    error_code ignored;
    if (process_ && process_->handle.is_open()) process_->handle.terminate(ignored);
}

}  // namespace hpo
