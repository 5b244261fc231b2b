#pragma once

#include <cmath>

namespace hpo {

/// The mean and the deviation of numbers as they come by (Welford 1962).
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
        return variance() > 1e-24 * mean_ * mean_ && variance() > 0 ? std::sqrt(variance()) : 1;
    }

   private:
    double count_ = 0, mean_ = 0, squares_ = 0;
};

}  // namespace hpo
