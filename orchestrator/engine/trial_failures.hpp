// Detects trials that fail alike, so that one cause that fails every trial (no data, a broken script) does not use up
// the budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/clock.hpp"

namespace hpo {

class TrialFailures {
   public:
    /// Trials in a row that fail alike and end a session in which no trial has reported.
    static constexpr int allowed_before_a_report = 3;
    /// The same for a session in which a trial has reported; the number must also exceed the trials at once.
    static constexpr std::size_t allowed = 6;

    struct Failure {
        std::string reason;
        std::string cause{};     ///< common cause of trials that fail alike; empty: the reason
        Seconds lasted{0};       ///< duration of its last attempt
        std::int64_t steps = 0;  ///< steps that it took
    };
    /// The other facts of the decision to give up.
    struct Others {
        std::size_t running = 0;  ///< trials running now
        Seconds longest{0};       ///< longest training time of a running trial
    };

    /// Takes in a trial's step.
    void reported(std::int64_t step);
    /// Takes in a trial that ended without failing.
    void other_end() { in_a_row_ = 0; }
    /// Takes in a failed trial.
    void failed(const Failure& failure);
    /// Returns the reason to end the session, if one cause fails every trial. Call it after failed().
    [[nodiscard]] std::optional<std::string> reason_to_give_up(const Failure& failure, const Others& others) const;

   private:
    int in_a_row_ = 0;           ///< trials that failed alike, while none ended otherwise or got further
    std::string cause_;          ///< their common cause
    Seconds longest_{0};         ///< longest duration of these trials
    std::int64_t furthest_ = 0;  ///< most steps that one of these trials took
    bool reported_anything_ = false;
};

}  // namespace hpo
