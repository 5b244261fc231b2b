// Whether a dimension of the space holds a value that somebody else wrote: a user, or another study.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "hpo/space.hpp"

namespace hpo {

/// Equal as parameters: 1 and 1.0 are the same number.
inline bool same_value(const Value& a, const Value& b) {
    if (a == b) return true;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return number_or(a, none) == number_or(b, none);
}

/// `value` as the dimension writes it (2 of an int where 2.0 was written); nothing: it lies outside, or between two
/// steps. Conditions are not looked at.
inline std::optional<Value> held_value(const Dimension& dimension, const Value& value) {
    if (dimension.kind == Kind::categorical) {
        const auto found = std::find_if(dimension.choices.begin(), dimension.choices.end(),
                                        [&](const Value& choice) { return same_value(choice, value); });
        return found == dimension.choices.end() ? std::nullopt : std::optional(*found);
    }
    const double number = number_or(value, std::numeric_limits<double>::quiet_NaN());
    if (!(number >= dimension.low && number <= dimension.high)) return std::nullopt;
    if (dimension.kind == Kind::real && !dimension.step) return Value(number);
    const double steps = (number - dimension.low) / dimension.step.value_or(1);
    const double off = std::abs(steps - std::round(steps)) * dimension.step.value_or(1);
    if (off > 1e-9 * std::max(1.0, std::abs(number))) return std::nullopt;
    if (dimension.kind == Kind::real) return Value(number);
    return Value(static_cast<std::int64_t>(std::llround(number)));
}

}  // namespace hpo
