#include "orchestrator/engine/tries.hpp"

#include <algorithm>

namespace hpo {

void Tries::tried(const TrialRecord& trial, bool counts) {
    if (counts && !front_.contains(trial.number)) {
        const bool counted = is_final(trial.state) ? paused_since_best_.erase(trial.number) != 0
                                                   : !paused_since_best_.insert(trial.number).second;
        if (!counted) ++since_best_;
    }
    const auto standing = standing_of(trial, objective_);
    if (!standing) return;
    if (std::any_of(front_.begin(), front_.end(),
                    [&](const auto& other) { return other.second == *standing || dominates(other.second, *standing); }))
        return;
    std::erase_if(front_, [&](const auto& other) { return dominates(*standing, other.second); });
    front_.insert_or_assign(trial.number, *standing);
    since_best_ = 0;
    paused_since_best_.clear();
}

void Tries::revalued(const TrialRecord& trial) {
    const auto standing = standing_of(trial, objective_);
    if (const auto before = front_.find(trial.number); before != front_.end() && standing) before->second = *standing;
}

}  // namespace hpo
