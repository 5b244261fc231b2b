// Which configuration is trained with a further seed. Seeds go to configurations that may still be the best: those
// whose mean differs from the best mean by no more than chance explains (as in F-Race; Birattari, Stuetzle, Paquete,
// Varrentrapp: "A racing algorithm for configuring metaheuristics", GECCO 2002). Pure.
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
    /// `seeds`: the most that a configuration is trained with; 1: there is no race.
    explicit Race(std::int64_t seeds) : most_(seeds) {}

    /// Replaces what is known of a configuration, named by its first trial. `losses`: of its seeds that count, smaller
    /// is better. Not `eligible`: it cannot be the best, whatever its loss.
    void update(std::int64_t first, std::span<const double> losses, bool eligible);
    /// Notes that the configuration is trained with a further seed. No other one is proposed for it before ended().
    void begun(std::int64_t first);
    void ended(std::int64_t first);

    /// Returns the configuration that the next further seed goes to, the one with the best mean; nothing if none may be
    /// the best that is neither training a further seed nor has had all.
    [[nodiscard]] std::optional<std::int64_t> next() const;
    /// Returns how many further seeds were begun.
    [[nodiscard]] std::int64_t further() const { return further_; }

   private:
    struct Entry {
        double mean = 0, squares = 0;  ///< of the deviations from the mean
        std::int64_t seeds = 0;        ///< that count
        std::int64_t begun = 1;        ///< whether they count or not
        bool eligible = false;
        bool trains = false;  ///< a further seed
    };
    [[nodiscard]] bool may_be_best(const Entry& entry, const Entry& best) const;

    std::int64_t most_;
    std::int64_t further_ = 0;
    std::map<std::int64_t, Entry> entries_;
    std::set<std::pair<double, std::int64_t>> order_;  ///< eligible ones, by mean
    double squares_ = 0;                               ///< of all deviations from means
    std::int64_t freedom_ = 0;                         ///< degrees of freedom of `squares_`
};

}  // namespace hpo
