// Computes the facts that all views show from a study's record: counts, ranking, speed, savings. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/standing.hpp"
#include "hpo/step_name.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/pools.hpp"

namespace hpo::view {

/// The current state of a study beyond its record.
struct Moment {
    double seconds = 0;            ///< for which the study has run, in all sessions
    int parallel = 1;              ///< trials at once
    bool held = false;             ///< true if a process runs the study now
    std::vector<Pool> pools = {};  ///< of that process, the host first and then its devices; empty if not known
    std::string waits = {};        ///< why a trial waits for other programs, with the numbers; empty if none waits
    /// The ends of running trials that a stopping rule predicts, by number; absent where it predicts none.
    std::map<std::int64_t, double> ends = {};
};

/// Returns the moment for a viewer at `now`, in seconds since the epoch. `held` is true if a process runs the study.
Moment moment_of(const StudyRecord& record, double now, bool held);

/// Returns the end that a stopping rule predicts of a running trial. Nothing of another one.
std::optional<double> predicted_end(const Moment& moment, const TrialRecord& trial);

/// Returns the number of trials of which an attempt has begun: all but those that are queued for the first time.
std::int64_t count_started(const StudyRecord& record);

/// Returns "31 started, 2 finished of 64", or without "of 64" where the time alone ends the study. Paused trials do not
/// count as finished, since they may resume.
std::string count_text(const Study& study, const StudyRecord& record);

/// Returns the metrics of the further objectives, then those of the constraints.
std::vector<std::string> judged_metrics(const Objective& objective);
/// Returns "Pareto front by val_loss and latency: 4 of 64 trials, hypervolume 0.83". The hypervolume is a share of the
/// box between the best and the worst value of each objective among trials that keep the constraints.
std::string front_text(const Study& study, const StudyRecord& record);
/// Returns "7 of 64 trials break the constraints", or by how much the nearest one breaks them if all do. Returns an
/// empty text if the study has no constraints or no trial to judge.
std::string constraints_text(const StudyRecord& record, const Objective& objective);
/// Returns "params 2.1e+06 is above 1e+06" for a trial that breaks constraints, else an empty text.
std::string broken_text(const TrialRecord& trial, const Objective& objective);

/// Returns the total speed of the running trials in their last window, as "62.10k samples/s", or as "129.3 it/s" if a
/// batch size is not known. Returns an empty text if no trial has reported its speed.
std::string total_speed(const Study& study, const StudyRecord& record);

/// The savings of stopping rules, among the trials that have started and ended. Steps that trials repeated and the
/// start-ups of their later attempts (of a script that was resumed, or of a retry) are subtracted. Programs may end
/// before the steps of the budget, so a stopped script counts as long as complete trials were on average.
struct Savings {
    std::int64_t left = 0;      ///< epochs that stopped trials were not trained for
    std::int64_t of = 0;        ///< epochs if all these trials had run to their own end
    std::int64_t repeated = 0;  ///< epochs that trials trained again after a pause or a failure
    std::int64_t restarts = 0;  ///< attempts after the first that reported
    bool timed = false;         ///< true if the seconds below are known for all these trials
    double left_seconds = 0;    ///< of the epochs `left`, at the measured pace of each trial
    double again_seconds = 0;   ///< of the repeated epochs and the restarts, as measured
    struct Rule {
        std::int64_t trials = 0;  ///< number of trials that the rule stopped
        std::int64_t epochs = 0;  ///< epochs that these trials had left
    };
    std::map<std::string, Rule> rules;  ///< by name

    [[nodiscard]] std::int64_t epochs() const { return left - repeated; }
    [[nodiscard]] double seconds() const { return left_seconds - again_seconds; }
};
/// Returns nothing if it is not known how many steps the stopped trials had left.
std::optional<Savings> savings(const Study& study, const StudyRecord& record);

/// Returns the number of trials in each state that has any: "17 running, 12 complete, 3 queued".
std::string states_text(const StudyRecord& record);

/// Returns the style in which a state is shown.
Style state_style(TrialState state);

/// Returns a parameter's value as tables show it: numbers with at most four digits, text made printable.
std::string value_text(const Value& value);
/// Returns "lr=0.01 width=64".
std::string parameters_text(const Params& params);

/// Returns "mean of 3 seeds, +- 0.012", with their standard deviation, for a configuration that was trained with
/// several, and an empty text for others.
std::string seeds_text(const TrialRecord& trial);

/// Returns "new best 0.8123 val_accuracy, trial 7 at epoch 3".
std::string best_text(const TrialRecord& trial, const Study& study);

/// Selects the new bests that are printed as a permanent line: one with which another trial takes the lead, and the
/// last one of the leading trial once it pauses or ends.
class NewBests {
   public:
    /// `study` must outlive the object.
    explicit NewBests(const Study& study) : study_(study) {}
    /// Initializes the best value from `record`, so that only better ones are new.
    void start(const StudyRecord& record);
    /// Returns the line to print after an event, or an empty text. `record` must include the event. A value that a
    /// trial reaches again is not new.
    std::string line(const StoredEvent& stored, const StudyRecord& record);

   private:
    const Study& study_;
    std::optional<double> best_;
    std::int64_t leads_ = 0;  ///< the leading trial; 0 if none has led in this session
    bool owed_ = false;       ///< true if it has a better value than the one printed
};

/// Returns the number of attempts that a user counts: one, plus one for each attempt that failed or ran out of memory.
/// A trial that resumes after a pause or in another session continues its attempt.
std::int64_t tries(const TrialRecord& trial);

}  // namespace hpo::view
