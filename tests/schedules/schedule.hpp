// One schedule: a small study, from its first session to its end, in one order of events out of all that are possible.
// The engine, the ledger, the rules and the announcements are the real ones; workers, disk and clock are simulated, so
// that a schedule follows from its seed alone (as in FoundationDB: Zhou et al., SIGMOD 2021). Between any two events
// workers, the disk, the user or the power may fail. One oracle judges each schedule:
//
// - Announcements stay true: the end of a trial has the same state and value in every later session.
// - A trial that has ended is never launched again, and no trial trains in two workers at once.
// - No announcement is one that a kill at that moment would undo.
// - Every report is answered, and every session ends, with no worker left.
// - Values are those of the trial's own steps. A trial fails only after a trouble of its own.
// - Reservations fit the machine.
// - In the end every trial of the budget has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hpo::schedules {

/// Counts of events in schedules, for a table.
struct Counts {
    std::int64_t sessions = 0, events = 0, trials = 0, kills = 0, power_cuts = 0, failed_writes = 0, interrupts = 0;
};

/// Plays the schedule of the seed. Throws std::runtime_error with the first violation. `story`: each thing that
/// happens, for people; may be empty.
void play(std::uint64_t seed, Counts& counts, const std::function<void(const std::string&)>& story = {});

}  // namespace hpo::schedules
