// What every view says of a study: counts, ranking, speed, savings, time left. Pure: from the record alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/canvas.hpp"
#include "orchestrator/view/pools.hpp"

namespace hpo::view {

/// What the record of a study cannot know.
struct Moment {
    double seconds = 0;            ///< that the study has been held, over all sessions
    int places = 1;                ///< trials at once
    bool held = false;             ///< a process runs the study now
    std::vector<Pool> pools = {};  ///< of that process: the host, then the devices it may use; empty: not told
    std::string waits = {};        ///< why a trial waits for other programs, with the numbers; empty: none does
};

/// A moment for a viewer at `now` (seconds since the epoch): from the events, and whether somebody holds the study.
Moment moment_of(const StudyRecord& record, double now, bool held);

/// Trials by state, indexed by TrialState.
std::array<std::int64_t, 7> count_states(const StudyRecord& record);
std::int64_t count_ended(const StudyRecord& record);
/// "31 begun, 2 ended of 64": paused trials may go on, and are not counted as ended.
std::string count_text(const Study& study, const StudyRecord& record);

/// Trials with a value, best first (equal ones by number); diverged and failed ones do not count.
std::vector<const TrialRecord*> ranking(const StudyRecord& record, const Objective& objective);
const TrialRecord* best_trial(const StudyRecord& record, const Objective& objective);

/// What the running trials do a second, together, in their last window: "62.10k samples/s"; "129.3 it/s" where one's
/// batch size is not known, as iterations of different batches tell less. Empty: none has reported any.
std::string total_speed(const Study& study, const StudyRecord& record);

/// Seconds that a step of each trial takes, in the order of `record.trials`: what came between its steps, half of which
/// took longer. What comes before the first (an interpreter and its imports) is no part of it: of a trial that took one
/// step it is taken off as it was of others. Absent: not known.
std::vector<std::optional<double>> step_seconds(const StudyRecord& record);

/// What stopping rules spared, of the trials that began and have ended. Steps that were taken again (a script that was
/// resumed without a checkpoint, a retry) are not spared.
struct Savings {
    std::int64_t epochs = 0;  ///< not run; 0: none, or as many were taken again
    std::int64_t of = 0;      ///< that these trials would have run in full
    double seconds = 0;       ///< of training, at step_seconds(); starts are not counted
    struct Rule {
        std::int64_t trials = 0;  ///< that it stopped
        std::int64_t epochs = 0;  ///< that those had left
    };
    std::map<std::string, Rule> rules;  ///< by name
};
Savings savings(const Study& study, const StudyRecord& record);

/// "17 running, 3 queued, 12 complete": states that have trials, as text.
std::string states_text(const StudyRecord& record);

/// How a state is painted: what goes on calmly, what ended well, what went wrong.
Style state_style(TrialState state);

/// One parameter as a table shows it: numbers with four digits, text made printable.
std::string value_text(const Value& value);

/// What a step of this study is called: "epoch" where the native worker trains, else "step".
inline std::string step_name(const Study& study) {
    return study.command.empty() && !study.worker.empty() ? "epoch" : "step";
}

/// "1 epoch", "9 epochs".
inline std::string steps_text(const Study& study, std::int64_t steps) {
    return std::to_string(steps) + " " + step_name(study) + (steps == 1 ? "" : "s");
}

/// "new best 0.8123 val_accuracy, trial 7 at epoch 3".
std::string best_text(const TrialRecord& trial, const Study& study);

/// Which new bests are worth a line that stays: one with which another trial takes the lead, and where the leading
/// trial has come to in the end, rather than each of its steps.
class NewBests {
   public:
    /// `study` outlives it.
    explicit NewBests(const Study& study) : study_(study) {}
    /// What was reached before is told already.
    void begun(const StudyRecord& record);
    /// The line after an event, which `record` holds; empty: none. Of the steps that a trial takes again none is new.
    std::string line(const StoredEvent& stored, const StudyRecord& record);

   private:
    const Study& study_;
    std::optional<double> best_;
    std::int64_t leads_ = 0;  ///< the trial; 0: none in this session
    bool owed_ = false;       ///< it has a better value than was told
};

/// Attempts at a trial: the first one, and one more for each that failed or ran out of memory. A trial that resumes
/// after a pause or with a session is not tried again.
std::int64_t tries(const TrialRecord& trial);

/// A line for a log or a pipe: what just happened to a trial; empty when it is not worth one. `record` holds it.
std::string event_line(const StoredEvent& stored, const StudyRecord& record, const Study& study);

}  // namespace hpo::view
