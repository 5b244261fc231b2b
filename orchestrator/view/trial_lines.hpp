// Writes a study's progress as lines, for a pipe or a file: one for each trial, with its value first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/standing.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

/// Selects and writes the lines of a session. A trial gets one when it pauses for the first time and one when it ends,
/// and the first trial with final metrics one for these. Starts, promotions and resumptions are in hpo.log.
class TrialLines {
   public:
    /// `study` must outlive the object.
    explicit TrialLines(const Study& study) : study_(study), best_(study.objective) {}

    /// Takes in the state at the start of the session.
    void start(const StudyRecord& record) { best_.update(record); }
    /// Returns the line for an event, without a line break, or an empty text. `record` must include the event.
    std::string line(const StoredEvent& stored, const StudyRecord& record);

   private:
    [[nodiscard]] std::string standing(const TrialRecord& trial, const StudyRecord& record,
                                       const TrialRecord* best) const;
    [[nodiscard]] std::string row(const TrialRecord& trial, const std::string& state, const std::string& more) const;

    const Study& study_;
    BestSoFar best_;
    std::vector<bool> paused_;   ///< by trial: its first pause was told
    bool closing_told_ = false;  ///< the final metrics of a trial were told
};

/// Returns a line about the trials that run, for a session that had nothing to tell for a while:
/// "20m 00s: 3 started, 1 finished of 64; trial 2 at epoch 7/20 with val_loss 0.5312, trial 3 at epoch 0/20".
std::string running_line(const Study& study, const StudyRecord& record, const Moment& moment);

}  // namespace hpo::view
