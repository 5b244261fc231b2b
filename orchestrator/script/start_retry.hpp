// Decides whether a command that could not be started is tried again, and when. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace hpo::script {

class StartRetry {
   public:
    using Time = std::chrono::steady_clock::time_point;

    /// Takes in that the command could not be started for want of something that may be there soon. Pauses grow.
    /// Returns false if the shortage has lasted too long, since `first_try`.
    bool wait_after(Time now, Time first_try) {
        if (now - first_try > longest_shortage) return false;
        pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
        at_ = now + pause_;
        return true;
    }

    /// Returns the time of the next try, if one waits for it.
    [[nodiscard]] std::optional<Time> at() const { return at_; }
    [[nodiscard]] bool due(Time now) const { return at_ && now >= *at_; }
    /// Ends the wait, for a try or for good. Returns false if there was none.
    bool end_wait() { return std::exchange(at_, std::nullopt).has_value(); }

    /// Returns true once, when the pauses have become so long that hpo is told of the shortage.
    bool tells() { return pause_ >= told_pause && !std::exchange(told_, true); }

    static constexpr std::chrono::seconds longest_shortage{600};

   private:
    static constexpr std::chrono::milliseconds first_pause{50}, longest_pause{5000}, told_pause{1000};

    std::optional<Time> at_;
    std::chrono::milliseconds pause_{0};
    bool told_ = false;
};

}  // namespace hpo::script
