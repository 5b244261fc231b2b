// Functions to search on: the known facts of each are its minimum and the value of a middling point, so that regrets
// can be compared between functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hpo/space.hpp"

namespace hpo::bench {

struct Problem {
    std::string name;
    Space space;  ///< parameters x0, x1, ...; choices are the numbers from 0
    /// A function of the values of all parameters; for a categorical one the number of the choice. Inactive parameters
    /// do not count.
    std::function<double(const std::vector<double>&)> function;
    double minimum = 0;
    double noise = 0;       ///< standard deviation of a trial's value around the function
    bool held_out = false;  ///< no constant of a sampler was chosen by its results
    double reference = 1;   ///< the median of 4,000 uniform points, above the minimum: a regret of 1
};

/// Returns all problems, in the order of the table; held-out ones come last.
std::vector<Problem> problems();

}  // namespace hpo::bench
