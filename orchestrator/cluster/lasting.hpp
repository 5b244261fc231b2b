// Observes whether a condition has lasted: one refused connection may have a passing cause on the way, a long row of
// them has not. Pure.
#pragma once

#include <chrono>
#include <optional>

namespace hpo::cluster {

class Lasting {
   public:
    using Time = std::chrono::steady_clock::time_point;
    explicit Lasting(std::chrono::milliseconds enough) : enough_(enough) {}

    /// Takes in an observation. Returns true if all have been true for long enough by now.
    bool observe(Time now, bool is_true) {
        if (!is_true) {
            since_.reset();
            return false;
        }
        if (!since_) since_ = now;
        return now - *since_ >= enough_;
    }

   private:
    std::chrono::milliseconds enough_;
    std::optional<Time> since_;  ///< the first of the observations that are all true
};

}  // namespace hpo::cluster
