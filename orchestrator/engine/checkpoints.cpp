#include "orchestrator/engine/checkpoints.hpp"

namespace hpo {

namespace fs = std::filesystem;

std::optional<std::int64_t> BestTrials::add(const TrialRecord& trial) {
    if (!most_ || numbers_.contains(trial.number)) return {};
    if (!trial.value || trial.state == TrialState::diverged || trial.state == TrialState::failed) return {};
    ranked_.emplace(direction_ == Direction::minimize ? *trial.value : -*trial.value, trial.number);
    numbers_.insert(trial.number);
    if (static_cast<std::int64_t>(ranked_.size()) <= *most_) return {};
    const std::int64_t last = ranked_.rbegin()->second;
    ranked_.erase(std::prev(ranked_.end()));
    numbers_.erase(last);
    return last;
}

CheckpointKeeper::CheckpointKeeper(const Study& study, const StudyFolder& folder, const StudyRecord& record)
    : study_(study),
      folder_(folder),
      record_(record),
      checkpoints_(study.keep.checkpoints, study.objective.direction),
      folders_(study.keep.folders, study.objective.direction) {}

void CheckpointKeeper::begin() {
    std::set<std::int64_t> ended;
    for (const TrialRecord& trial : record_.trials) {
        if (!is_final(trial.state)) continue;
        checkpoints_.add(trial);
        folders_.add(trial);
        ended.insert(trial.number);
    }
    for (const std::int64_t trial : folder_.trials_with_checkpoints())
        if (ended.contains(trial)) tidy(trial);
}

void CheckpointKeeper::trial_ended(const TrialRecord& trial) {
    const auto without_checkpoint = checkpoints_.add(trial);
    const auto without_folder = folders_.add(trial);
    tidy(trial.number);
    if (without_checkpoint) tidy(*without_checkpoint);
    if (without_folder) tidy(*without_folder);
}

/// Takes away of an ended trial's folder what the study does not keep.
void CheckpointKeeper::tidy(std::int64_t trial) const {
    std::error_code ignored;  // what cannot be removed costs room, nothing else
    const fs::path folder = folder_.checkpoints(trial);
    if (!fs::is_directory(fs::symlink_status(folder, ignored))) return;
    if (!folders_.hold(trial)) {
        fs::remove_all(folder, ignored);
        return;
    }
    const bool native = study_.command.empty();
    if (native)
        for (const char* written : {"last.ckpt", "last.ckpt.tmp", "best.ckpt.tmp"})
            fs::remove(folder / written, ignored);
    if (!checkpoints_.hold(trial)) fs::remove(folder / (native ? "best.ckpt" : "last.ckpt"), ignored);
    fs::remove(folder, ignored);  // only if nothing is in it
}

}  // namespace hpo
