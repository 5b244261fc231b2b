// Judges a schedule by the record of its study (schedule.hpp). Pure: it sees records and events, and throws
// std::runtime_error with the first violation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo::schedules {

[[noreturn]] void violated(const std::string& promise);

/// Returns "trial N".
std::string named(std::int64_t trial);

/// The end of a trial as announced to the user.
struct AnnouncedEnd {
    TrialState state;
    std::optional<double> value;
};

class Oracle {
   public:
    /// `study` outlives it.
    explicit Oracle(const Study& study) : study_(study) {}

    void announce(std::int64_t trial, const AnnouncedEnd& end) { announced_.emplace(trial, end); }
    /// A trial ends: for the first time, as far as the user knows.
    void check_first_end(std::int64_t trial) const;
    /// Every end that was announced is in the record as it was. `when`: for the message.
    void check_announced(const StudyRecord& record, const std::string& when) const;
    /// The study is over. Returns its number of trials.
    std::int64_t check_the_end(std::span<const StoredEvent> events) const;

    std::set<std::int64_t> harmed;           ///< trials with an attempt that a study may charge to them
    std::set<std::int64_t> stopped_by_user;  ///< trials

   private:
    void check_end_of(const TrialRecord& trial) const;
    void check_value(const TrialRecord& trial) const;

    const Study& study_;
    std::map<std::int64_t, AnnouncedEnd> announced_;
};

}  // namespace hpo::schedules
