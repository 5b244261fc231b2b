// The clock that all code except main uses, so that tests can advance time by hand. It is monotonic: adjustments of the
// wall clock do not affect it.
#pragma once

#include <chrono>

namespace hpo {

using Seconds = std::chrono::duration<double>;

class Clock {
   public:
    virtual ~Clock() = default;
    /// Returns the seconds since an arbitrary start. Never decreases.
    [[nodiscard]] virtual Seconds now() const = 0;
};

class SteadyClock final : public Clock {
   public:
    [[nodiscard]] Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

class ManualClock final : public Clock {
   public:
    [[nodiscard]] Seconds now() const override { return now_; }
    void advance(Seconds by) { now_ += by; }

   private:
    Seconds now_{0};
};

}  // namespace hpo
