// Decides when a supervisor kills the rest of a worker again, and what follows if SIGKILL does not help: the kernel
// holds the process, or it belongs to another user.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace hpo::supervisor {

class KillRounds {
   public:
    using Time = std::chrono::steady_clock::time_point;

    /// `needed` rounds in a row must find no process.
    explicit KillRounds(int needed) : needed_(needed) {}

    /// Begins anew, for another worker.
    void begin() { *this = KillRounds(needed_); }

    /// Takes in a round, which has sent SIGKILL to `found` processes.
    void took(Time now, std::size_t found) {
        if (!since_) since_ = now;
        lasts_ = now - *since_;
        clean_ = found == 0 ? clean_ + 1 : 0;
        if (clean_ == 0 || clean_ < needed_) return;
        since_.reset();
        lasts_ = {};
    }

    /// Returns true if no process is left.
    [[nodiscard]] bool none_left() const { return clean_ >= needed_; }

    /// Returns the pause before the next round, if no child ends before: short at first, and a second for processes
    /// that have not ended for long.
    [[nodiscard]] std::chrono::milliseconds pause() const {
        using namespace std::chrono_literals;
        if (clean_ > 0) return 2ms;
        return lasts_ < 1s ? 10ms : lasts_ < 10s ? 100ms : 1000ms;
    }

    /// Returns true once, when processes have not ended for some seconds.
    [[nodiscard]] bool tells_of_stuck() {
        if (told_ || clean_ > 0 || lasts_ < stuck_after) return false;
        return told_ = true;
    }

    /// Returns true if a supervisor without an orchestrator need not wait any longer: a process with a pending SIGKILL
    /// starts no other.
    [[nodiscard]] bool hopeless() const { return lasts_ >= hopeless_after; }

    static constexpr std::chrono::seconds stuck_after{5}, hopeless_after{30};

   private:
    int needed_;
    int clean_ = 0;  ///< rounds in a row that have found no process
    bool told_ = false;
    std::optional<Time> since_;  ///< time of the first round
    Time::duration lasts_{0};
};

}  // namespace hpo::supervisor
