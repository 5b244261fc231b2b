#pragma once

#include <cmath>

namespace hpo {

/// Numbers beyond it cannot be standardised: the sum of their squares would overflow.
constexpr double largest_number = 1e100;

/// Returns why a number cannot be standardised, as the end of an error message; null if it can be.
inline const char* unfit_reason(double number) {
    if (!std::isfinite(number)) return " is not a finite number";
    return std::abs(number) > largest_number ? " is too large: numbers up to 1e100 can be standardized" : nullptr;
}

/// Accumulates the mean and the standard deviation of numbers (Welford 1962).
class NumberFit {
   public:
    void add(double value) {
        count_ += 1;
        const double before = value - mean_;
        mean_ += before / count_;
        squares_ += before * (value - mean_);
    }
    [[nodiscard]] double mean() const { return mean_; }
    [[nodiscard]] double variance() const { return count_ > 0 ? squares_ / count_ : 0; }
    /// 1 where all numbers are the same.
    [[nodiscard]] double deviation() const {
        // The variance of equal numbers is exactly 0, also of large ones. A bound relative to the mean would take large
        // numbers that differ by little, such as those of rows, as equal, and leave them unscaled.
        return variance() > 0 ? std::sqrt(variance()) : 1;
    }

   private:
    double count_ = 0, mean_ = 0, squares_ = 0;
};

}  // namespace hpo
