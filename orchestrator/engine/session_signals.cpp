#include "orchestrator/engine/session_signals.hpp"

#include <chrono>
#include <csignal>
#include <utility>

#include "hpo/interrupted.hpp"

namespace hpo {

namespace {

constexpr std::chrono::milliseconds killed_within{400};  ///< after the second signal

std::string reason_of(int number, const std::string& output_problem) {
    if (number == SIGINT) return "interrupted";
    if (limit_is_near) return limit_reason;
    if (number == SIGTERM) return "terminated";
    return output_problem.empty() ? "the terminal was closed" : output_problem;
}

}  // namespace

SessionSignals::SessionSignals(boost::asio::io_context& loop, Actions actions)
    : actions_(std::move(actions)), interrupts_(loop, [this](int number) { on_signal(number); }), killer_(loop) {}

void SessionSignals::on_signal(int number) {
    if (number_ != 0 && number != SIGHUP) {
        actions_.kill();
        killer_.expires_after(killed_within);
        killer_.async_wait([this](auto error) {
            if (!error) gives_up_ = true;
        });
    } else if (number_ == 0) {
        number_ = number;
        actions_.interrupt(reason_of(number, number == SIGHUP ? actions_.output_problem() : std::string()),
                           number != SIGINT && limit_is_near ? SessionEnd::at_limit : SessionEnd::interrupted);
    }
}

/// A write that a signal interrupted does not mean a closed terminal. The signal is handled separately.
void SessionSignals::on_closed_output() {
    if (interrupted_by == 0 && !interrupts_.outlives_terminal()) on_signal(SIGHUP);
}

}  // namespace hpo
