// Scales of axes: where a value lies on one, and which values are labelled. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hpo::plot {

struct Scale {
    enum class Unit { number, whole, share, seconds, choice };

    std::string label;
    double low = 0, high = 1;
    Unit unit = Unit::number;
    bool log = false;                ///< only if low > 0
    std::vector<std::string> names;  ///< of a choice, at 0, 1, 2, ...

    /// Returns 0 for `low`, 1 for `high`, and numbers outside for values outside. NaN for values without a place.
    [[nodiscard]] double at(double value) const;
    /// Returns the value as its label: "0.05", "40 %", "2m 00s" or the name of a choice.
    [[nodiscard]] std::string text(double value) const;
    /// Returns at most `most` (at least 2) values to label, ascending: round ones between the ends. At least two,
    /// unless a single whole number lies there.
    [[nodiscard]] std::vector<double> ticks(int most) const;
};

/// Returns a scale from `low` to `high`, widened if they are equal.
Scale scale(std::string label, double low, double high, Scale::Unit unit = Scale::Unit::number, bool log = false);

/// Returns the range in which to show values, best first, so that a few terrible ones do not flatten the others: up to
/// the worst, or to three times as far as the better three quarters reach if the worst lies beyond `slack` times that.
/// Ascending; {0, 1} without values. The page of `hpo report` computes the same (page/src/axis.ts).
std::pair<double, double> useful_range(const std::vector<double>& best_first, double slack = 2);

}  // namespace hpo::plot
