#include "orchestrator/stopping/repeats.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {

namespace {
constexpr std::size_t most_compared = 20;  // steps; a curve that takes longer to show three values says too little
}

bool Repeats::report(std::int64_t trial, std::int64_t step, double value) {
    Course& course = courses_[trial];
    if (course.decided) return false;
    const bool next = step == static_cast<std::int64_t>(course.values.size()) + 1;
    if (!next || !std::isfinite(value) || course.values.size() == most_compared) {
        course.decided = true;
        return false;
    }
    if (std::find(course.values.begin(), course.values.end(), value) == course.values.end()) ++course.distinct;
    course.values.push_back(value);
    if (course.distinct < enough) return true;
    course.decided = true;
    const auto [known, first] = first_.try_emplace(course.values, trial);
    if (first) return true;
    course.original = known->second;
    repeating_[known->second].push_back(trial);
    return true;
}

std::optional<std::int64_t> Repeats::original(std::int64_t trial) const {
    const auto found = courses_.find(trial);
    return found == courses_.end() ? std::nullopt : found->second.original;
}

const std::vector<std::int64_t>& Repeats::of(std::int64_t original) const {
    static const std::vector<std::int64_t> none;
    const auto found = repeating_.find(original);
    return found == repeating_.end() ? none : found->second;
}

void Repeats::release(std::int64_t trial) {
    const auto found = courses_.find(trial);
    if (found == courses_.end() || !found->second.original) return;
    std::erase(repeating_[*found->second.original], trial);
    found->second.original.reset();
}

void Repeats::failed(std::int64_t trial) {
    const auto found = courses_.find(trial);
    if (found == courses_.end()) return;
    const auto known = first_.find(found->second.values);
    if (known != first_.end() && known->second == trial) first_.erase(known);
}

}  // namespace hpo
