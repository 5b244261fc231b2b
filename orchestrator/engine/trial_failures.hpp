// Trials that fail alike: one cause that fails every trial (no data, a broken script) must not use up the budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/clock.hpp"

namespace hpo {

class TrialFailures {
   public:
    /// So many trials in a row that fail alike end a session in which none has ever reported,
    static constexpr int allowed_before_a_report = 3;
    /// and at least so many, and more than run at once, one in which some have.
    static constexpr std::size_t allowed = 6;

    struct Failure {
        std::string reason;
        std::string cause{};     ///< what trials that fail alike have in common; empty: the reason
        Seconds lasted{0};       ///< its last attempt
        std::int64_t steps = 0;  ///< that it took
    };
    /// What else the decision to give up depends on.
    struct Others {
        std::size_t running = 0;  ///< trials at this moment
        Seconds longest{0};       ///< that one of them has trained for
    };

    /// A trial took a step.
    void reported(std::int64_t step);
    /// A trial ended otherwise.
    void other_end() { in_a_row_ = 0; }
    /// A trial failed.
    void failed(const Failure& failure);
    /// After failed(): the reason to end the session, if it is one cause that fails every trial.
    [[nodiscard]] std::optional<std::string> reason_to_give_up(const Failure& failure, const Others& others) const;

   private:
    int in_a_row_ = 0;           ///< that failed alike, while no other ended or got further than they
    std::string cause_;          ///< what they have in common
    Seconds longest_{0};         ///< time of the longest of them
    std::int64_t furthest_ = 0;  ///< steps of the furthest of them
    bool reported_anything_ = false;
};

}  // namespace hpo
