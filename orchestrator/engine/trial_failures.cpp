#include "orchestrator/engine/trial_failures.hpp"

#include <algorithm>

#include "orchestrator/engine/text.hpp"

namespace hpo {

void TrialFailures::reported(std::int64_t step) {
    reported_anything_ = true;
    if (step > furthest_) in_a_row_ = 0;  // this trial got further
}

void TrialFailures::failed(const Failure& failure) {
    const std::string cause = failure.cause.empty() ? kind_of_failure(failure.reason) : failure.cause;
    if (cause != cause_) in_a_row_ = 0, longest_ = Seconds(0), furthest_ = 0;
    cause_ = cause;
    ++in_a_row_;
    longest_ = std::max(longest_, failure.lasted);
    furthest_ = std::max(furthest_, failure.steps);
}

std::optional<std::string> TrialFailures::reason_to_give_up(const Failure& failure, const Others& others) const {
    // A trial that has run for as long as the longest of those that failed may still succeed.
    if (others.running > 0 && others.longest >= longest_) return std::nullopt;
    if (!reported_anything_ && in_a_row_ >= allowed_before_a_report)
        return counted(in_a_row_, "trial") + " failed before reporting, with the same error: " + failure.reason;
    // A named cause is a parameter (too large ones, say), which the sampler may learn to avoid. Otherwise more trials
    // must fail than run at once, so that those that began with the first failure have had their time.
    if (!failure.cause.empty()) return std::nullopt;
    if (static_cast<std::size_t>(in_a_row_) < std::max(allowed, others.running + 2)) return std::nullopt;
    return counted(in_a_row_, "trial") +
           " failed with the same error, and none got further (fix the cause; the same command then resumes with the "
           "remaining trials): " +
           failure.reason;
}

}  // namespace hpo
