// Time, as everything but main sees it: a seam, so that tests move it by hand. Monotonic: jumps of the wall clock do
// not touch it.
#pragma once

#include <chrono>

namespace hpo {

using Seconds = std::chrono::duration<double>;

class Clock {
   public:
    virtual ~Clock() = default;
    /// Seconds since an arbitrary start; never goes back.
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
