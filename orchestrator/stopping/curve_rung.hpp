// A rung of the extrapolation rule: the trials that have reached a step, ranked by their predicted ends.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace hpo {

/// A trial at a rung, ordered by its predicted end.
struct Foretold {
    double end = 0;
    std::int64_t trial = 0;
    friend auto operator<=>(const Foretold&, const Foretold&) = default;
};

struct CurveRung {
    std::int64_t step = 0;
    std::size_t factor = 1;         ///< reduction factor: the best 1/factor go on
    std::vector<Foretold> ranking;  ///< all trials that have reached the rung, best first
    std::set<Foretold> paused;      ///< the trials that are paused here
    std::size_t gone_on = 0;        ///< the number of trials that continued because of their rank

    void add(const Foretold& entry);
    void remove(std::int64_t trial);  ///< from the ranking
    /// Returns how many of the trials in the ranking go on.
    [[nodiscard]] std::size_t quota() const { return ranking.size() / factor; }
    [[nodiscard]] std::size_t free_places() const { return quota() > gone_on ? quota() - gone_on : 0; }
    /// Returns the rank of an entry, from 0.
    [[nodiscard]] std::size_t place(const Foretold& entry) const;
};

/// Returns the rungs at steps / factor, steps / factor^2, ... down to 2 or `grace`, in ascending order, and one at step
/// 1 unless `grace` is above it.
std::vector<CurveRung> rungs_of(std::int64_t steps, std::int64_t grace, std::size_t factor);

}  // namespace hpo
