#include "worker/training/trial_progress.hpp"

#include <cmath>
#include <string>
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

Result<void> check_goes_on(const to_worker::Run& run, std::int64_t step) {
    const std::string checkpoint = "last.ckpt is of step " + std::to_string(step);
    if (run.done && step > run.done->step)
        return Error{checkpoint + ", but the last stored step is " + std::to_string(run.done->step) +
                     ", as after a loss of power"};
    if (step >= run.steps) return Error{checkpoint + ", the last one"};
    return {};
}

}  // namespace hpo
