// The study that trains the best configurations of another one again, and their ranking by mean. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// Returns the study that trains the best configurations of `study` again. It differs in its name (NAME-repeat) and in
/// its seed, which also determines the data split. It has no stopping rules, start configurations, warm start or limits
/// on time and patience.
Study repeat_study(const Study& study);

/// Returns the trials to add to `record` so that each configuration has `repeats` of them. They are ordered by rounds,
/// so that an interrupted study has repeated every configuration about equally often.
std::vector<event::Proposed> missing_repeats(const StudyRecord& record,
                                             const std::vector<const TrialRecord*>& configurations,
                                             std::int64_t repeats);

/// The results of one configuration.
struct Repeated {
    const TrialRecord* first = nullptr;  ///< the trial of the original study; not owned
    std::vector<double> values;          ///< of the complete repeats
    std::int64_t failed = 0;             ///< number of repeats that ended without a value
    double mean = 0;                     ///< of `values`; 0 if there are none
    std::optional<double> deviation;     ///< standard deviation of `values`; absent for fewer than two
    bool tied = false;                   ///< true if within two standard errors of the best mean
};

/// Returns the configurations ordered by mean, the best first and those without a value last.
std::vector<Repeated> rank_repeats(const StudyRecord& record, const std::vector<const TrialRecord*>& configurations,
                                   Direction direction);

}  // namespace hpo
