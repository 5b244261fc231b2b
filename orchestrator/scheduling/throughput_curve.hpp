// The curve of the total work of trials on one device by their number, learned from the rates of single trials before
// and after others have started or ended. Pure and deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace hpo {

/// A change of one trial's rate: log(rate with `more` trials at once / rate with `fewer`). Usually at most 0.
struct RateChange {
    std::int64_t fewer = 1, more = 2;
    double log_ratio = 0;
    std::int64_t count = 1;  ///< number of observations that it summarizes
    double variance = 0;     ///< of log_ratio, from the differences between steps; 0 if not known
};

/// The model is additive in logarithms: log rate(trial, n) = a(trial) + f(n) + noise. Only f is learned. A trial is
/// only compared with itself, so that trials of different sizes do not mislead. Each observed change is an edge between
/// two numbers; f is the least-squares solution over all edges, as the potentials in a network of resistors, and the
/// error of a difference is the effective resistance. The total work of n trials is n * exp(f(n)), in units of a lone
/// trial.
class ThroughputCurve {
   public:
    /// Adds an observation. Ignores changes that are not finite or between equal numbers. Only the last 16 observations
    /// of each pair of numbers count, so that the curve follows a machine that changes.
    void add(const RateChange& change);

    struct Gain {
        double log_gain = 0;            ///< log(total work of `to` trials / total work of `from` trials)
        double error = 0;               ///< standard error of log_gain
        std::int64_t observations = 0;  ///< direct observations of this pair
    };
    /// Returns nothing if no chain of observations connects the two numbers.
    [[nodiscard]] std::optional<Gain> gain(std::int64_t from, std::int64_t to) const;

    /// Returns the numbers of trials that occur in any observation, ascending.
    [[nodiscard]] std::vector<std::int64_t> numbers() const;
    /// Returns one change per pair of numbers: the median, and the number of observations.
    [[nodiscard]] std::vector<RateChange> changes() const;

   private:
    using Pair = std::pair<std::int64_t, std::int64_t>;  // fewer, more
    [[nodiscard]] double variance() const;

    std::map<Pair, std::vector<double>> observed_;
    std::vector<double> reported_variances_;  ///< the latest known RateChange::variance
};

}  // namespace hpo
