// Keeps a state per unfinished trial that is updated incrementally. Each report of a curve is processed once, so the
// cost of a step does not grow with the length of the trial.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "hpo/trial.hpp"

namespace hpo {

/// The states of trials, by number. `State` must have `add(const Report&)`, which is called with each report in order.
template <class State>
class Followed {
   public:
    explicit Followed(State fresh = {}) : fresh_(std::move(fresh)) {}

    /// Returns the state after the whole curve, adding the reports that it has not processed yet.
    const State& at(const TrialRecord& trial) {
        Entry& entry = entries_.try_emplace(trial.number, Entry{0, fresh_}).first->second;
        for (; entry.seen < trial.curve.size(); ++entry.seen) entry.state.add(trial.curve[entry.seen]);
        return entry.state;
    }

    /// Drops the state of a trial, so that its curve is read from the start next time. Called when the trial has ended
    /// and when steps are reported again.
    void forget(std::int64_t trial) { entries_.erase(trial); }

   private:
    struct Entry {
        std::size_t seen = 0;
        State state;
    };
    State fresh_;
    std::unordered_map<std::int64_t, Entry> entries_;
};

}  // namespace hpo
