#include "orchestrator/view/time_left.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "hpo/units.hpp"
#include "orchestrator/view/future.hpp"

namespace hpo::view {
namespace {

/// The factor by which the range is wider than the simulations on either side, since they draw from a sample.
constexpr double sample_margin = 1.25;
/// The factor if trials pause at rungs, where each new arrival changes which trials are promoted.
constexpr double rung_margin = 1.5;

/// Formats seconds, rounded to seconds, tens of seconds or minutes, since an estimate is no more precise.
std::string coarse(double seconds) {
    const double unit = seconds < 100 ? 1 : seconds < 3600 ? 10 : 60;
    const double rounded = std::max(1.0, std::round(seconds / unit)) * unit;
    if (rounded < 60) return std::to_string(std::lround(rounded)) + " s";
    return duration_text(rounded);
}

/// Returns the most steps that a trial has trained to its own end; 0 if none has.
std::int64_t most_steps_of(const StudyRecord& record) {
    std::int64_t most = 0;
    for (const TrialRecord& trial : record.trials)
        if (trial.state == TrialState::complete) most = std::max(most, trial.steps());
    return most;
}

}  // namespace

std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, const Moment& moment) {
    std::optional<TimeLeft> left;
    // Trials that end by themselves are taken to have as many steps as those before them.
    Study closed = study;
    if (study.budget.open) closed.budget.epochs = most_steps_of(record);
    if (closed.budget.epochs == 0) {
        // no trial has ended
    } else if (const Past past(closed, record, moment); past.can_estimate() && moment.seconds > 0) {
        const auto futures = draw_futures(closed, past);
        const auto quantile = [&](double share) {
            return futures[static_cast<std::size_t>(share * static_cast<double>(futures.size() - 1))];
        };
        const double mean = std::accumulate(futures.begin(), futures.end(), 0.0) / static_cast<double>(futures.size());
        const double margin = past.rungs.empty() ? sample_margin : rung_margin;
        left = TimeLeft{quantile(0.05) / margin, quantile(0.95) * margin, mean};
    }
    if (study.budget.seconds) {
        const double budget = std::max(0.0, *study.budget.seconds - moment.seconds);
        left = left ? TimeLeft{std::min(left->least, budget), std::min(left->most, budget),
                               std::min(left->expected, budget)}
                    : TimeLeft{0, budget, budget};
    }
    return left;
}

double part_done(const Study& study, const StudyRecord& record, const Moment& moment) {
    if (const auto left = time_left(study, record, moment); left && moment.held)
        return moment.seconds / std::max(1e-9, moment.seconds + left->expected);
    return static_cast<double>(count_ended(record)) /
           static_cast<double>(std::max<std::int64_t>(1, study.budget.trials));
}

std::string time_left_text(const TimeLeft& left) {
    if (left.least <= 0) return "at most " + coarse(left.most) + " left";
    const std::string least = coarse(left.least), most = coarse(left.most);
    if (left.most < 1.2 * left.least || least == most) return "about " + coarse(left.expected) + " left";
    const bool both_in_seconds = least.ends_with(" s") && most.ends_with(" s");
    return (both_in_seconds ? least.substr(0, least.size() - 2) : least) + " to " + most + " left";
}

}  // namespace hpo::view
