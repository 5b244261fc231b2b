#include "orchestrator/engine/checkpoints.hpp"

#include <algorithm>

namespace hpo {

void CheckpointKeeper::trial_ended(const TrialRecord& trial) {
    std::error_code ignored;  // what cannot be removed costs room, nothing else
    std::filesystem::remove(folder_.checkpoints(trial.number) / "last.ckpt", ignored);

    const bool counts = trial.value && trial.state != TrialState::diverged && trial.state != TrialState::failed;
    std::erase(kept_, trial.number);
    if (counts) {
        const auto behind = [&](std::int64_t other) {
            return better(study_.objective.direction, *trial.value, *record_.trial(other).value);
        };
        kept_.insert(std::find_if(kept_.begin(), kept_.end(), behind), trial.number);
    }
    std::int64_t dropped = counts ? 0 : trial.number;
    if (kept_.size() > kept_checkpoints) {
        dropped = kept_.back();
        kept_.pop_back();
    }
    if (dropped) std::filesystem::remove_all(folder_.checkpoints(dropped), ignored);
}

}  // namespace hpo
