// A rung, at which asha, hyperband, pasha and extrapolation compare trials: those that have reached its step, by rank.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace hpo {

/// A trial at a rung, ordered by its value there or by its predicted end, oriented so that smaller is better.
struct Ranked {
    double value = 0;
    std::int64_t trial = 0;
    friend auto operator<=>(const Ranked&, const Ranked&) = default;
};

struct Rung {
    std::int64_t step = 0;
    std::size_t factor = 1;       ///< reduction factor: the best 1/factor go on
    std::vector<Ranked> ranking;  ///< all trials that have reached the rung, best first
    std::set<Ranked> paused;      ///< the trials that are paused here
    std::size_t gone_on = 0;      ///< the number of trials that continued because of their rank

    void add(const Ranked& entry);
    void remove(std::int64_t trial);  ///< from the ranking
    /// Returns how many of the trials in the ranking go on.
    [[nodiscard]] std::size_t quota() const { return ranking.size() / factor; }
    [[nodiscard]] std::size_t free_places() const { return quota() > gone_on ? quota() - gone_on : 0; }
    /// Returns the rank of an entry, from 0.
    [[nodiscard]] std::size_t place(const Ranked& entry) const;
    /// Returns true if an entry ranks within the quota, and a place is free that no better paused trial waits for.
    [[nodiscard]] bool has_place_for(const Ranked& entry) const;
    /// Appends the paused trials among the best `places` of the ranking, at most `free` of them, best first, until
    /// `trials` has `most`.
    void add_promotable(std::size_t places, std::size_t free, std::size_t most,
                        std::vector<std::int64_t>& trials) const;
};

/// Returns empty rungs at these steps.
std::vector<Rung> rungs_at(const std::vector<std::int64_t>& steps, std::size_t factor);

/// Returns the steps first, first * factor, first * factor^2, ... that are below `steps`.
std::vector<std::int64_t> rung_steps(std::int64_t first, std::int64_t factor, std::int64_t steps);

/// Returns steps / factor, steps / factor^2, ... down to 2 or `grace`, in ascending order, after step 1 unless `grace`
/// is above it.
std::vector<std::int64_t> rung_steps_from_end(std::int64_t steps, std::int64_t grace, std::size_t factor);

/// Returns a text such as "epochs 1, 3 and 9". `unit` is "epoch" or "step".
std::string rungs_text(const std::vector<std::int64_t>& steps, const std::string& unit);

}  // namespace hpo
