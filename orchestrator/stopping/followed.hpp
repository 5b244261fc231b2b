// What a rule remembers of the curve of each unfinished trial, so that a step costs the same in a long trial: each
// report is looked at once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "hpo/trial.hpp"

namespace hpo {

/// `State` has `add(const Report&)`, which takes the next report of the curve.
template <class State>
class Followed {
   public:
    explicit Followed(State fresh = {}) : fresh_(std::move(fresh)) {}

    /// The state after the whole curve: reports that it has not seen yet are added.
    const State& at(const TrialRecord& trial) {
        Entry& entry = entries_.try_emplace(trial.number, Entry{0, fresh_}).first->second;
        for (; entry.seen < trial.curve.size(); ++entry.seen) entry.state.add(trial.curve[entry.seen]);
        return entry.state;
    }

    /// The trial has ended, or steps that were seen are reported again: its curve is read from the start next time.
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
