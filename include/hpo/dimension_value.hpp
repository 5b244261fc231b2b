// Checks whether a dimension of the space contains a value that a user has written or that comes from another study.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "hpo/space.hpp"

namespace hpo {

/// Returns true if two values are equal as parameters. 1 and 1.0 are.
inline bool same_value(const Value& a, const Value& b) {
    if (a == b) return true;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return number_or(a, none) == number_or(b, none);
}

/// Converts `value` to the dimension's type, for instance 2.0 to the integer 2. Returns nothing if it lies outside the
/// dimension or between two steps. Ignores conditions.
inline std::optional<Value> held_value(const Dimension& dimension, const Value& value) {
    if (dimension.kind == Kind::categorical) {
        const auto found = std::find_if(dimension.choices.begin(), dimension.choices.end(),
                                        [&](const Value& choice) { return same_value(choice, value); });
        return found == dimension.choices.end() ? std::nullopt : std::optional(*found);
    }
    const double number = number_or(value, std::numeric_limits<double>::quiet_NaN());
    if (!(number >= dimension.low && number <= dimension.high)) return std::nullopt;
    if (dimension.kind == Kind::real && !dimension.step) return Value(number);
    // Steps from an end that depends on other parameters are known with these alone.
    const bool moves = !dimension.low_of.empty();
    if (moves && dimension.kind == Kind::real) return Value(number);
    const double low = moves ? 0 : dimension.low, step = moves ? 1 : dimension.step.value_or(1);
    const double steps = (number - low) / step;
    const double error = std::abs(steps - std::round(steps)) * step;
    if (error > 1e-9 * std::max(1.0, std::abs(number))) return std::nullopt;
    if (dimension.kind == Kind::real) return Value(number);
    return Value(static_cast<std::int64_t>(std::llround(number)));
}

}  // namespace hpo
