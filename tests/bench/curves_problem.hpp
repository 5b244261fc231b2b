// The problems of the bench of stopping rules: recorded learning curves, and families of drawn ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hpo/space.hpp"

namespace hpo::curves {

/// The reports of a trial at a point, step by step; smaller is better, and a value that is not a number ends it as
/// diverged.
struct Training {
    std::size_t row = 0;        ///< of the table; of a drawn one the trial's number: no two are the same
    std::vector<double> seen;   ///< one value a step
    std::vector<double> truth;  ///< without the noise of its measurement; empty: as seen
};

struct Problem {
    std::string name;
    Space space;
    std::size_t steps = 0;
    double best = 0;   ///< the least value that there is
    double scale = 1;  ///< of regrets: the median of first values less the best
    std::function<Training(const Point& point, std::size_t trial)> train;
};

/// A JSON file, perhaps compressed: a list of {"hp": {name: number}, "valid": {"loss": [numbers]}}. A point is the
/// recorded configuration nearest to it in the unit cube; names whose median lies in the lowest tenth of their range
/// are logarithmic. Throws with the reason where it is another thing.
Problem recorded(const std::string& path);

/// Curves of 50 steps over four dimensions, with known ends: early, crossing, late, opposed, flat, noisy and broken.
std::vector<Problem> families();

/// Curves of 27 steps that follow a law: they fall exponentially or by a power of the steps, without noise and with a
/// little, or fall once more, at a step of their own ("decay") or all at the same one ("late").
std::vector<Problem> laws();

}  // namespace hpo::curves
