// Words the notices of refused connections: the first at once, then one sentence a minute. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace hpo::cluster {

class Refusals {
   public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds between{60};

    /// Takes in a refused connection. Returns the sentence if it is due.
    std::optional<std::string> add(Time now, const std::string& text) {
        if (told_ && now - *told_ < between) {
            ++untold_;
            last_ = text;
            return std::nullopt;
        }
        return say(now, text);
    }
    /// Returns the sentence about those that were not told, if it is due.
    std::optional<std::string> due(Time now) {
        if (untold_ == 0 || now - *told_ < between) return std::nullopt;
        --untold_;
        return say(now, last_);
    }

   private:
    std::string say(Time now, const std::string& text) {
        told_ = now;
        const std::uint64_t others = std::exchange(untold_, 0);
        return others == 0 ? text : text + " (and " + std::to_string(others) + " more in the last minute)";
    }
    std::optional<Time> told_;
    std::uint64_t untold_ = 0;
    std::string last_;
};

}  // namespace hpo::cluster
