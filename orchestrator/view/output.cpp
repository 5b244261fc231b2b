#include "orchestrator/view/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <optional>

#include "hpo/doing.hpp"
#include "hpo/interrupted.hpp"
#include "hpo/shortage.hpp"

namespace hpo::view {

bool write_to(int fd, std::string_view text) {
    using std::chrono::milliseconds;
    using std::chrono::steady_clock;
    constexpr milliseconds after_signal{250}, poll_interval{100};
    static std::optional<steady_clock::time_point> end;
    const Doing writing("waits for the reader of its output");
    ShortageWait shortage;
    while (!text.empty()) {
        if (interrupted_by == 0)
            end.reset();
        else if (!end)
            end = steady_clock::now() + after_signal;
        const auto left = end ? std::chrono::ceil<milliseconds>(*end - steady_clock::now()) : poll_interval;
        pollfd ready{fd, POLLOUT, 0};
        const int polled = ::poll(&ready, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
        if (polled < 0 && !shortage.try_again_after(errno)) return false;
        if (polled <= 0 && end && steady_clock::now() >= *end) {
            errno = ETIMEDOUT;
            return false;
        }
        if (polled <= 0) continue;
        // Writing up to PIPE_BUF bytes to a pipe that is ready does not block.
        const auto written = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
        if (written < 0) {
            if (!shortage.try_again_after(errno)) return false;
            continue;
        }
        shortage.over();
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace hpo::view
