#include "orchestrator/execution/log_reader.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace hpo {

std::string LogReader::next() {
    follow_gap();
    std::string bytes(64 * 1024, '\0');
    for (;;) {
        const ssize_t count = ::pread(file_, bytes.data(), bytes.size(), place_);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw std::system_error(errno, std::generic_category());
        place_ += count;
        bytes.resize(static_cast<std::size_t>(count));
        return bytes;
    }
}

/// Goes on at the same byte of the output when the log has moved its end, or at its gap if it has dropped that byte.
void LogReader::follow_gap() {
    const std::int64_t now = log_gap::left_out(file_, gap_);
    if (now == left_out_) return;
    const std::int64_t line = log_gap::length();
    if (place_ > gap_) {
        const std::int64_t output = left_out_ ? place_ - line + left_out_ : place_;  // bytes of it before the place
        place_ = output < gap_ + now ? gap_ : output - now + line;
    }
    left_out_ = now;
}

}  // namespace hpo
