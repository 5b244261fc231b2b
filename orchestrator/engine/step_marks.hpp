// Marks the steps that later sessions and viewers need of a trial: those by which other trials are judged, its best and
// its last one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {

/// Functions that mark throw StoreFailed. During a replay of all steps the marks are collected, and during one of
/// marked steps there are none.
class StepMarks {
   public:
    StepMarks(const Study& study, Store& store) : study_(study), store_(store) {}

    /// Returns true if the stored marks are those of this study's settings, so that marked steps suffice for a replay.
    [[nodiscard]] bool up_to_date() const { return store_.marked_for() == purpose(); }
    void begin_replay();
    void end_replay() { replays_ = false; }
    /// Returns true if there are marks of a replay of all steps, to be stored when the session begins.
    [[nodiscard]] bool replayed() const { return replayed_.has_value(); }
    /// Stores these marks in place of all others.
    Result<void> store_replayed();

    /// Takes in a stored step, which may replace later ones of an earlier attempt.
    void took(const StoredEvent& stored, const event::Reported& reported);
    /// Marks the trial's last step, by which others are judged.
    void mark_last(const TrialRecord& trial);
    /// Marks the last and the best step of a trial that pauses or ends by this event, which viewers show from then on.
    /// Call it before the event is stored, so that the event never lacks them.
    void mark_end(const Event& event, const StudyRecord& record);
    /// Forgets the steps of an ended trial.
    void ended(std::int64_t trial) { steps_.erase(trial); }

   private:
    struct Step {
        std::int64_t step = 0, sequence = 0;
    };

    [[nodiscard]] std::string purpose() const;
    void mark(std::int64_t sequence, SoFar so_far, std::int64_t trial = 0);

    const Study& study_;
    Store& store_;
    std::unordered_map<std::int64_t, std::vector<Step>> steps_;  ///< stored curves of unfinished trials
    std::optional<std::vector<Mark>> replayed_{std::in_place};   ///< marks of a replay of all steps
    bool replays_ = false;
};

}  // namespace hpo
