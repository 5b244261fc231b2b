#include "worker/training/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hpo {
namespace {

constexpr double one_cycle_rise = 0.3;
constexpr double one_cycle_start = 1.0 / 25;
constexpr double one_cycle_end = 1.0 / 250'000;

/// Falls from 1 at 0 to 0 at 1.
double cosine(double part) { return 0.5 * (1 + std::cos(std::numbers::pi * part)); }

}  // namespace

double Schedule::at(std::int64_t iteration) const {
    const auto now = static_cast<double>(std::clamp<std::int64_t>(iteration, 0, iterations - 1));
    const auto rise = static_cast<double>(warmup);
    const bool rising = now < rise;
    // The share of the fall that is over: 0 at its first update, below 1 at its last.
    const double fallen = rising ? 0 : (now - rise) / std::max(1.0, static_cast<double>(iterations) - rise);
    switch (kind) {
        case ScheduleKind::constant:
        case ScheduleKind::plateau:
            return rising ? peak * (now + 1) / rise : peak;
        case ScheduleKind::step:
            // An update that is due by a rounding error later counts as due.
            return rising ? peak * (now + 1) / rise : peak * std::pow(decay, std::floor(now / every * (1 + 1e-12)));
        case ScheduleKind::wsd: {
            const auto length = static_cast<double>(cooldown);
            const double into = now - (static_cast<double>(iterations) - length);  // the fall
            const double falling = peak * (into > 0 ? 1 - std::sqrt(into / length) : 1);
            return rising ? std::min(falling, peak * (now + 1) / rise) : falling;
        }
        case ScheduleKind::cosine:
            return rising ? peak * (now + 1) / rise : peak * cosine(fallen);
        case ScheduleKind::one_cycle:
            return rising ? peak * (1 - (1 - one_cycle_start) * cosine(now / rise))
                          : peak * (one_cycle_end + (1 - one_cycle_end) * cosine(fallen));
    }
    return peak;
}

void Plateau::tell(double loss, const TrainingConfig& config) {
    constexpr double threshold = 1e-4;
    if (waited < 0 || loss < best * (1 - threshold)) {
        best = loss;
        waited = 0;
        return;
    }
    if (++waited <= config.lr_patience) return;
    scale *= config.lr_decay;
    waited = 0;
}

Schedule make_schedule(const TrainingConfig& config, std::int64_t iterations, std::int64_t iterations_per_epoch) {
    double warmup = config.warmup * static_cast<double>(iterations_per_epoch);
    if (config.schedule == ScheduleKind::one_cycle && config.warmup == 0)
        warmup = one_cycle_rise * static_cast<double>(iterations);
    const auto all = static_cast<double>(iterations);
    const double every =
        config.lr_decay_every > 0 ? config.lr_decay_every * static_cast<double>(iterations_per_epoch) : all / 3;
    return {config.schedule,
            config.lr,
            iterations,
            std::llround(std::min(warmup, all)),
            config.lr_decay,
            every,
            std::clamp<std::int64_t>(std::llround(config.cooldown * all), 1, iterations)};
}

}  // namespace hpo
