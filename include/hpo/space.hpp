// The search space of a study.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/value.hpp"

namespace hpo {

enum class Kind { real, integer, categorical };

/// The role of a parameter in the large-batch policy. It is declared (`role:`) or recognised by the name.
enum class Role { none, batch_size, learning_rate, regularizer };

/// A condition that holds if `parameter` is active and has one of the values in `any_of`.
struct Condition {
    std::string parameter;
    std::vector<Value> any_of;
};

/// A dimension of the space. A numeric one has low <= high, both included; `step` counts from low, and `log` requires
/// low > 0. A categorical one has at least one choice, and its choices are distinct.
struct Dimension {
    std::string name;
    Kind kind = Kind::real;
    double low = 0;
    double high = 1;
    std::optional<double> step;
    bool log = false;
    std::vector<Value> choices;
    std::vector<Condition> when;  ///< the dimension is active if all of them hold
    Role role = Role::none;
    std::optional<Value> prior = {};  ///< the value that is expected to be good; absent: all alike
    std::optional<double> spread =
        {};  ///< the distance of good values from `prior`: a standard deviation, as a share of the range
    /// Expressions of other parameters that bound the range within [low, high], such as "width / 2"; empty if fixed.
    std::string low_of = {}, high_of = {};

    [[nodiscard]] bool dependent() const { return !low_of.empty() || !high_of.empty(); }
};

/// The dimensions in the order of the study file. A dimension may depend on one before or after it, but there are no
/// cycles.
using Space = std::vector<Dimension>;

/// A point of the unit cube with one coordinate in [0, 1] per dimension, also for inactive ones.
using Point = std::vector<double>;

}  // namespace hpo
