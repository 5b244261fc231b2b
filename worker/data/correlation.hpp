#pragma once

namespace hpo {

/// Accumulates the correlation of pairs of numbers (Welford 1962).
class Correlation {
   public:
    void add(double x, double y) {
        count_ += 1;
        const double dx = x - mean_x_, dy = y - mean_y_;
        mean_x_ += dx / count_;
        mean_y_ += dy / count_;
        xx_ += dx * (x - mean_x_);
        yy_ += dy * (y - mean_y_);
        xy_ += dx * (y - mean_y_);
    }
    /// Returns true if y is a + b * x, but for rounding, of too many pairs for an accident.
    [[nodiscard]] bool complete() const { return count_ >= 20 && xy_ * xy_ > (1 - 1e-10) * xx_ * yy_ && xx_ * yy_ > 0; }

   private:
    double count_ = 0, mean_x_ = 0, mean_y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;
};

}  // namespace hpo
