// Chooses the configuration that is trained with a further seed. Seeds go to configurations that may still be the best:
// those whose mean differs from the best mean by no more than chance explains (as in F-Race; Birattari, Stuetzle,
// Paquete, Varrentrapp: "A racing algorithm for configuring metaheuristics", GECCO 2002). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace hpo {

class Race {
   public:
    /// `seeds` is the largest number of seeds per configuration; 1: no race.
    explicit Race(std::int64_t seeds) : most_(seeds) {}

    /// Replaces the results of a configuration, named by its first trial. `losses` has the values of the seeds that
    /// count, oriented so that smaller is better. A configuration that is not `eligible` cannot be the best.
    void update(std::int64_t first, std::span<const double> losses, bool eligible);
    /// Notes that a further seed of the configuration is in training. next() does not return it before ended().
    void begun(std::int64_t first);
    void ended(std::int64_t first);

    /// Returns the configuration that gets the next further seed: the best mean among the configurations that may be
    /// the best, have no further seed in training and have seeds left. Nothing if there is none.
    [[nodiscard]] std::optional<std::int64_t> next() const;
    /// Returns the number of further seeds that were begun.
    [[nodiscard]] std::int64_t further() const { return further_; }

   private:
    struct Entry {
        double mean = 0, squares = 0;  ///< sum of squared deviations from the mean
        std::int64_t seeds = 0;        ///< seeds that count
        std::int64_t begun = 1;        ///< number of seeds begun
        bool eligible = false;
        bool trains = false;  ///< a further seed is in training
    };
    [[nodiscard]] bool may_be_best(const Entry& entry, const Entry& best) const;

    std::int64_t most_;
    std::int64_t further_ = 0;
    std::map<std::int64_t, Entry> entries_;
    std::set<std::pair<double, std::int64_t>> order_;  ///< eligible configurations by mean
    double squares_ = 0;                               ///< sum of squared deviations over all configurations
    std::int64_t freedom_ = 0;                         ///< degrees of freedom of `squares_`
};

}  // namespace hpo
