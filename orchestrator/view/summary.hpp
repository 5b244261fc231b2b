// What all views show of a study: counts, ranking, speed, savings. Pure: computed from the record.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/standing.hpp"
#include "hpo/study.hpp"
#include "orchestrator/study/step_name.hpp"
#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/pools.hpp"

namespace hpo::view {

/// What a view needs to know that the record of a study does not hold.
struct Moment {
    double seconds = 0;            ///< that the study has run, in all sessions
    int parallel = 1;              ///< trials at once
    bool held = false;             ///< whether a process runs the study now
    std::vector<Pool> pools = {};  ///< of that process: the host, then its devices; empty if not known
    std::string waits = {};        ///< why a trial waits for other programs, with the numbers; empty if none does
};

/// Returns the moment for a viewer at `now` (seconds since the epoch). `held` tells whether a process runs the study.
Moment moment_of(const StudyRecord& record, double now, bool held);

/// Counts trials by state, indexed by TrialState.
std::array<std::int64_t, 7> count_states(const StudyRecord& record);
std::int64_t count_ended(const StudyRecord& record);
/// Returns "31 started, 2 finished of 64". Paused trials may go on and do not count as finished.
std::string count_text(const Study& study, const StudyRecord& record);

/// Returns the metrics beside the first that trials are judged by: further objectives, then those of constraints.
std::vector<std::string> judged_metrics(const Objective& objective);
/// Returns "Pareto front by val_loss and latency: 4 of 64 trials, hypervolume 0.83"; the hypervolume is a share of the
/// box between the best and the worst value of each objective among trials that keep the constraints.
std::string front_text(const Study& study, const StudyRecord& record);
/// Returns "7 of 64 trials break constraints", or that all do and by how much the nearest one does. Empty: the study
/// has no constraints, or no trial to judge.
std::string constraints_text(const StudyRecord& record, const Objective& objective);
/// Returns "params 2.1e+06 is above 1e+06" for a trial that breaks constraints; empty for others.
std::string broken_text(const TrialRecord& trial, const Objective& objective);

/// Returns the total speed of the running trials in their last window: "62.10k samples/s", or "129.3 it/s" if a batch
/// size is not known (iterations with different batch sizes say less). Empty if no trial has reported its speed.
std::string total_speed(const Study& study, const StudyRecord& record);

/// Returns the seconds that a step of each trial takes, in the order of `record.trials`: the median of the times
/// between its steps; nothing where it is not known. The time before the first step (an interpreter and its imports)
/// does not count; for a trial with a single step it is taken from the other trials.
std::vector<std::optional<double>> step_seconds(const StudyRecord& record);

/// What stopping rules have saved, among trials that have started and ended. Steps that were repeated (by a script that
/// was resumed without a checkpoint, or by a retry) are not saved.
struct Savings {
    std::int64_t epochs = 0;  ///< not run; 0 if as many were repeated
    std::int64_t of = 0;      ///< epochs of these trials if all had run in full
    double seconds = 0;       ///< of training, by step_seconds(); without starts
    struct Rule {
        std::int64_t trials = 0;  ///< stopped by the rule
        std::int64_t epochs = 0;  ///< that these had left
    };
    std::map<std::string, Rule> rules;  ///< by name
};
Savings savings(const Study& study, const StudyRecord& record);

/// Returns the states that have trials: "17 running, 3 queued, 12 complete".
std::string states_text(const StudyRecord& record);

/// Returns the style in which a state is shown.
Style state_style(TrialState state);

/// Returns a parameter's value as tables show it: numbers with four digits, text made printable.
std::string value_text(const Value& value);

/// "new best 0.8123 val_accuracy, trial 7 at epoch 3".
std::string best_text(const TrialRecord& trial, const Study& study);

/// Decides which new bests are printed as a line that stays: one by which another trial takes the lead, and the last
/// one of the leading trial, but not each of its steps.
class NewBests {
   public:
    /// `study` outlives it.
    explicit NewBests(const Study& study) : study_(study) {}
    /// Takes the best so far as known already.
    void start(const StudyRecord& record);
    /// Returns the line to print after an event, which `record` must include; empty if there is none. Steps that a
    /// trial repeats are not new.
    std::string line(const StoredEvent& stored, const StudyRecord& record);

   private:
    const Study& study_;
    std::optional<double> best_;
    std::int64_t leads_ = 0;  ///< the leading trial; 0 if none has led in this session
    bool owed_ = false;       ///< whether it has a better value than was printed
};

/// Returns the attempts at a trial: one, and another for each attempt that failed or ran out of memory. Resuming after
/// a pause or in another session is not another attempt.
std::int64_t tries(const TrialRecord& trial);

/// Returns a line for a log or a pipe on an event, which `record` must include; empty if it is not worth a line.
std::string event_line(const StoredEvent& stored, const StudyRecord& record, const Study& study);

}  // namespace hpo::view
