#include "worker/training/health.hpp"

#include <cmath>
#include <cstdio>

namespace hpo {
namespace {

constexpr std::size_t enough_losses = 20;
constexpr double wild_noise = 0.5;
constexpr double rise_of_mean = 0.1;
constexpr double rise_certainty = 4;
constexpr double spike = 20;
constexpr double huge_norm = 1000;

std::string message(const char* format, double first, double second) {
    char buffer[160];
    std::snprintf(buffer, sizeof buffer, format, first, second);
    return buffer;
}

}  // namespace

void LossWindow::push(double loss) {
    if (count_ < capacity) {
        losses_[count_++] = loss;
    } else {
        losses_[first_] = loss;
        first_ = (first_ + 1) % capacity;
    }
}

std::optional<LossWindow::Line> LossWindow::line() const {
    if (count_ < 3) return std::nullopt;
    const auto n = static_cast<double>(count_);
    const double middle = (n - 1) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += at(i);
    const double mean = sum / n;
    double squares = 0;
    double products = 0;
    double steps = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        const double off = at(i) - mean;
        squares += off * off;
        products += (static_cast<double>(i) - middle) * off;
        if (i > 0) steps += (at(i) - at(i - 1)) * (at(i) - at(i - 1));
    }
    const double spread = n * (n * n - 1) / 12;  // sum of (i - middle)^2
    const double slope = products / spread;
    const double rest = std::max(0.0, squares - slope * products);
    return Line{mean, std::sqrt(squares / (n - 1)), std::sqrt(steps / (n - 1) / 2), slope,
                std::sqrt(rest / (n - 2) / spread)};
}

std::string health_warning(const LossWindow& window, const GradientNorms& norms) {
    if (const auto line = window.line(); line && window.size() >= enough_losses) {
        if (line->noise > wild_noise * std::abs(line->mean))
            return message("unstable: the loss jumps by %.3g around its mean of %.3g", line->noise, line->mean);
        const double climb = line->slope * static_cast<double>(window.size());
        if (climb > rise_of_mean * std::abs(line->mean) && line->slope > rise_certainty * line->error)
            return message("unstable: the loss rises, by %.3g over the last iterations to about %.3g", climb,
                           line->mean + climb / 2);
    }
    if (norms.largest > spike * norms.mean)
        return message("unstable: a gradient norm of %.3g, its mean is %.3g", norms.largest, norms.mean);
    if (norms.mean > huge_norm) return message("unstable: the gradient norm is %.3g (limit %g)", norms.mean, huge_norm);
    return {};
}

}  // namespace hpo
