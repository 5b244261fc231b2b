// The health of a training: a window of its last losses, a line fitted through them, and when to warn.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace hpo {

/// The last `capacity` losses, oldest first; plain data, so that a checkpoint can hold it.
class LossWindow {
   public:
    static constexpr std::size_t capacity = 100;

    void push(double loss);
    [[nodiscard]] std::size_t size() const { return count_; }

    struct Line {
        double mean = 0;
        double deviation = 0;  ///< standard deviation around the mean (n - 1)
        /// Standard deviation around any smooth curve, from the differences of neighbours (von Neumann 1941).
        double noise = 0;
        double slope = 0;  ///< least squares, per iteration
        double error = 0;  ///< standard error of the slope
    };
    /// Returns the line through the losses, from 3 losses on.
    [[nodiscard]] std::optional<Line> line() const;

   private:
    [[nodiscard]] double at(std::size_t i) const { return losses_[(first_ + i) % capacity]; }

    std::array<double, capacity> losses_{};
    std::uint64_t first_ = 0;
    std::uint64_t count_ = 0;
};

/// The gradient norms of a step.
struct GradientNorms {
    double mean = 0;
    double largest = 0;
};

/// A warning about unstable training, if one of these holds; otherwise empty:
/// - the noise of the last losses is more than half of their mean (a loss that falls fast is no noise);
/// - they rise: the line through them climbs by more than a tenth of the mean over the window, and its slope is more
///   than four times its standard error;
/// - the step's largest gradient norm is more than 20 times its mean, or the mean is above 1000.
/// The losses are considered once there are 20.
std::string health_warning(const LossWindow& window, const GradientNorms& norms);

}  // namespace hpo
