// Decides which trials are not paused, since their restart would take longer than their remaining steps. Pure.
//
// A script that is resumed starts its interpreter and loads its data again, and without a checkpoint it repeats its
// steps. Measured times decide, so the decision is stored as an event and is not repeated by a replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// Restarts that take less than this many seconds are never a reason to let a trial go on.
inline constexpr double least_restart = 0.25;

/// The cost of pausing and resuming a trial, beside the cost of letting it go on.
struct Restart {
    double start = 0;           ///< seconds from the launch to the first step
    double step = 0;            ///< seconds
    std::int64_t repeated = 0;  ///< steps that the resumed trial trains again
    std::int64_t left = 0;      ///< steps that the trial has not trained yet

    [[nodiscard]] double cost() const { return start + step * static_cast<double>(repeated); }
    [[nodiscard]] double rest() const { return step * static_cast<double>(left); }
    /// Returns true if the trial should not be paused. Returns false if a number is not finite.
    [[nodiscard]] bool is_dearer() const { return cost() >= least_restart && cost() > rest(); }
};

/// Returns a text such as "its restart would take 2.1 s, its remaining 33 steps 0.66 s".
std::string restart_text(const Restart& restart);

/// The median of the last values that were added.
class RecentMedian {
   public:
    /// Ignores values that are negative or not finite.
    void add(double value);
    /// Returns nothing before the first value.
    [[nodiscard]] std::optional<double> value() const;

   private:
    static constexpr std::size_t most = 31;
    std::vector<double> values_;
    std::size_t next_ = 0;
};

/// Learns the number of steps of trials that no rule ends. Programs may end before the steps of the budget.
class TrialLengths {
   public:
    explicit TrialLengths(const Study& study);
    /// Adds a trial that has ended. Only complete trials count.
    void add(const TrialRecord& trial);
    /// Returns the expected number of steps of a trial that has `steps` steps so far: the mean of those that were
    /// complete, within the budget. Returns nothing for a script before its first complete trial.
    [[nodiscard]] std::optional<std::int64_t> expected(std::int64_t steps) const;

   private:
    std::int64_t budget_;
    bool fixed_;  ///< true if every trial has the steps of the budget
    std::int64_t count_ = 0, sum_ = 0;
};

/// The cost of restarts that study and trials have shown so far.
class Restarts {
   public:
    explicit Restarts(const Study& study);

    /// Called when a trial has reported a step.
    void reported(const TrialRecord& trial);
    /// Called when a trial has ended.
    void ended(const TrialRecord& trial) { lengths_.add(trial); }
    /// Returns the cost of pausing a trial that has just reported a step, or nothing if it is not known. `checkpoints`
    /// is true if the trial would resume from its last step. The start-up is that of the trial, or the median of the
    /// study's trials if that is less, so that one slow start decides nothing.
    [[nodiscard]] std::optional<Restart> of(const TrialRecord& trial, bool checkpoints);

   private:
    bool starts_anew_;  ///< true if each attempt may need a new process; workers of hpo go on
    std::int64_t budget_;
    TrialLengths lengths_;
    RecentMedian paces_, starts_;
};

}  // namespace hpo
