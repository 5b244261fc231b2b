#include "worker/training/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hpo {
namespace {

constexpr double one_cycle_rise = 0.3;
constexpr double one_cycle_start = 1.0 / 25;
constexpr double one_cycle_end = 1.0 / 250'000;

/// From 1 at 0 to 0 at 1.
double cosine(double part) { return 0.5 * (1 + std::cos(std::numbers::pi * part)); }

}  // namespace

double Schedule::at(std::int64_t iteration) const {
    const auto now = static_cast<double>(std::clamp<std::int64_t>(iteration, 0, iterations - 1));
    const auto rise = static_cast<double>(warmup);
    const bool rising = now < rise;
    // How far through the fall: 0 at its first update, below 1 at its last.
    const double fallen = rising ? 0 : (now - rise) / std::max(1.0, static_cast<double>(iterations) - rise);
    switch (kind) {
        case ScheduleKind::constant:
            return rising ? peak * (now + 1) / rise : peak;
        case ScheduleKind::cosine:
            return rising ? peak * (now + 1) / rise : peak * cosine(fallen);
        case ScheduleKind::one_cycle:
            return rising ? peak * (1 - (1 - one_cycle_start) * cosine(now / rise))
                          : peak * (one_cycle_end + (1 - one_cycle_end) * cosine(fallen));
    }
    return peak;
}

Schedule make_schedule(const TrainingConfig& config, std::int64_t iterations, std::int64_t iterations_per_epoch) {
    double warmup = config.warmup * static_cast<double>(iterations_per_epoch);
    if (config.schedule == ScheduleKind::one_cycle && config.warmup == 0)
        warmup = one_cycle_rise * static_cast<double>(iterations);
    return {config.schedule, config.lr, iterations, std::llround(std::min(warmup, static_cast<double>(iterations)))};
}

}  // namespace hpo
