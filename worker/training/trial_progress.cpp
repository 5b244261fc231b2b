#include "worker/training/trial_progress.hpp"

#include <cmath>
#include <type_traits>

namespace hpo {

static_assert(std::is_trivially_copyable_v<TrialProgress>);

Report TrialProgress::add_step(std::int64_t iterations, double step_seconds, double samples) {
    ++step;
    iteration += iterations;
    seconds += step_seconds;
    Report report;
    report.step = step;
    report.iteration = iteration;
    report.seconds = seconds;
    if (step_seconds > 0) {
        report.iterations_per_second = static_cast<double>(iterations) / step_seconds;
        report.iterations_per_second_overall = static_cast<double>(iteration) / seconds;
        report.samples_per_second = *report.iterations_per_second * samples;
        report.samples_per_second_overall = *report.iterations_per_second_overall * samples;
    }
    return report;
}

bool TrialProgress::keep_if_best(const Report& report, const Objective& objective) {
    const auto found = report.metrics.find(objective.metric);
    if (found == report.metrics.end() || !std::isfinite(found->second)) return false;
    if (objective.at == Objective::At::best && best_step > 0 && !better(objective.direction, found->second, best_value))
        return false;
    best_step = report.step;
    best_value = found->second;
    return true;
}

}  // namespace hpo
