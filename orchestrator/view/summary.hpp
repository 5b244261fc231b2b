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
/// Ended or paused: most paused trials are waiting for their end, and how far a study is shows in both.
std::int64_t count_settled(const StudyRecord& record);

/// Trials with a value, best first (equal ones by number); diverged and failed ones do not count.
std::vector<const TrialRecord*> ranking(const StudyRecord& record, const Objective& objective);
const TrialRecord* best_trial(const StudyRecord& record, const Objective& objective);

/// Sum of the running trials' last it/s; absent: none has reported any.
std::optional<double> total_speed(const StudyRecord& record);

/// Until the study ends, by the pace so far: trials left over trials settled, or the time budget if that comes first.
/// Absent before the first trial has settled.
std::optional<double> seconds_left(const Study& study, const StudyRecord& record, const Moment& moment);

/// What stopping rules spared.
struct Savings {
    std::int64_t epochs = 0;                    ///< not run
    std::int64_t of = 0;                        ///< that all ended trials could have run
    double seconds = 0;                         ///< of training, at each stopped trial's own measured pace
    std::map<std::string, std::int64_t> stops;  ///< trials a rule stopped
};
Savings savings(const Study& study, const StudyRecord& record);

/// "17 running, 3 queued, 12 complete": states that have trials, in words.
std::string states_text(const StudyRecord& record);

/// How a state is painted: what goes on calmly, what ended well, what went wrong.
Style state_style(TrialState state);

/// One parameter as a table shows it: numbers with four digits, text made printable.
std::string value_text(const Value& value);

/// A line for a log or a pipe: what just happened to a trial; empty when it is not worth one. `record` holds it.
std::string event_line(const StoredEvent& stored, const StudyRecord& record, const Study& study);

}  // namespace hpo::view
