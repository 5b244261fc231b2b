#include "orchestrator/engine/checkpoints.hpp"

#include <algorithm>

namespace hpo {

namespace fs = std::filesystem;

std::vector<std::int64_t> BestTrials::add(const TrialRecord& trial) {
    if (!most_ || *most_ == 0 || held_.contains(trial.number)) return {};
    const auto standing = standing_of(trial, objective_);
    if (!standing) return {};
    std::vector<std::int64_t> gone;
    if (!objective_.further.empty()) {
        for (const auto& [number, other] : held_) {
            if (dominates(other, *standing)) return {};
            if (dominates(*standing, other)) gone.push_back(number);
        }
    }
    held_.emplace(trial.number, *standing);
    if (objective_.further.empty() && static_cast<std::int64_t>(held_.size()) > *most_) {
        const auto better = [](const auto& a, const auto& b) {
            const Standing &x = a.second, &y = b.second;
            if (x.violation != y.violation) return x.violation < y.violation;
            return x.losses != y.losses ? x.losses < y.losses : a.first < b.first;
        };
        gone.push_back(std::max_element(held_.begin(), held_.end(), better)->first);
    }
    for (const std::int64_t number : gone) held_.erase(number);
    return gone;
}

void BestTrials::moved(const TrialRecord& trial) {
    const auto held = held_.find(trial.number);
    if (held == held_.end()) return;
    if (const auto standing = standing_of(trial, objective_)) held->second = *standing;
}

CheckpointKeeper::CheckpointKeeper(const Study& study, const StudyFolder& folder, const StudyRecord& record)
    : study_(study),
      folder_(folder),
      record_(record),
      checkpoints_(study.keep.checkpoints, study.objective),
      folders_(study.keep.folders, study.objective) {}

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
    if (trial.repeat_of != 0) {
        checkpoints_.moved(record_.trial(trial.repeat_of));
        folders_.moved(record_.trial(trial.repeat_of));
    }
    tidy(trial.number);
    for (const std::int64_t other : without_checkpoint) tidy(other);
    for (const std::int64_t other : without_folder) tidy(other);
}

/// Removes the files of an ended trial that the study does not keep.
void CheckpointKeeper::tidy(std::int64_t trial) const {
    std::error_code ignored;  // a file that cannot be removed only costs space
    const fs::path folder = folder_.checkpoints(trial);
    if (!fs::is_directory(fs::symlink_status(folder, ignored))) return;
    if (!folders_.hold(trial)) {
        fs::remove_all(folder, ignored);
        return;
    }
    const bool native = !study_.script();
    if (native)
        for (const char* written : {"last.ckpt", "last.ckpt.tmp", "best.ckpt.tmp"})
            fs::remove(folder / written, ignored);
    if (!checkpoints_.hold(trial)) {
        fs::remove(folder / (native ? "best.ckpt" : "last.ckpt"), ignored);
        if (!native) fs::remove(folder / "last.ckpt.ahead", ignored);  // the client has put it aside
    }
    fs::remove(folder, ignored);  // only if it is empty
}

}  // namespace hpo
