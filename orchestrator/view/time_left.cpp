#include "orchestrator/view/time_left.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/open_trials.hpp"
#include "hpo/text.hpp"

namespace hpo::view {
namespace {

/// Formats seconds, rounded to seconds, tens of seconds or minutes, since an estimate is no more precise.
std::string coarse(double seconds) {
    const double unit = seconds < 100 ? 1 : seconds < 3600 ? 10 : 60;
    const double rounded = std::max(1.0, std::round(seconds / unit)) * unit;
    if (rounded < 60) return std::to_string(std::lround(rounded)) + " s";
    return duration_text(rounded);
}

}  // namespace

double part_done(const Study& study, const StudyRecord& record, const Moment& moment) {
    if (const auto left = time_left(study, record, moment); left && moment.held)
        return moment.seconds / std::max(1e-9, moment.seconds + left->expected);
    if (is_open_ended(study.budget)) return std::min(1.0, moment.seconds / *study.budget.seconds);
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
