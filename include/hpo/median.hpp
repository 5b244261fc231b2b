// Returns the median of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hpo {

/// Returns the median, the upper of the two middle values if their number is even. `values` must not be empty.
inline double upper_median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Returns the median, the mean of the two middle values if their number is even. `values` must not be empty.
inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace hpo
