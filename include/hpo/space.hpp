// The search space: what a study may vary.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/value.hpp"

namespace hpo {

enum class Kind { real, integer, categorical };

/// What a parameter is to the large-batch policy. Declared (`role:`) or recognised by name.
enum class Role { none, batch_size, learning_rate, regularizer };

/// Active only while `parameter` holds one of `any_of`.
struct Condition {
    std::string parameter;
    std::vector<Value> any_of;
};

/// One dimension of the space. Numeric kinds: low <= high, both inclusive; `step` counts from low; `log` needs low > 0.
/// Categorical: at least one choice, all different.
struct Dimension {
    std::string name;
    Kind kind = Kind::real;
    double low = 0;
    double high = 1;
    std::optional<double> step;
    bool log = false;
    std::vector<Value> choices;
    std::vector<Condition> when;  ///< all must hold
    Role role = Role::none;
    std::optional<Value> prior = {};  ///< the value that is expected to be good; absent: all alike
    std::optional<double> spread =
        {};  ///< how far good ones lie from it: a standard deviation, as a share of the range
};

/// In the order of the study file; a condition's parameter may stand before or after the one it governs (cycles are
/// refused).
using Space = std::vector<Dimension>;

/// A point of the unit cube, one coordinate in [0, 1] a dimension, inactive ones included.
using Point = std::vector<double>;

}  // namespace hpo
