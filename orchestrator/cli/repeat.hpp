// hpo best --repeat: the best configurations trained again on fresh seeds, ranked by mean and spread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

struct StudySnapshot;

/// The study in which the best of `study` are trained again: the same but for its name (NAME-repeat), its seed (also of
/// the split of the data), and that it neither proposes nor stops anything.
Study repeat_study(const Study& study);

/// Trials to add to `record`, so that each of these configurations has `repeats`: one round after the other, so that an
/// interrupted study has as many of each.
std::vector<event::Proposed> missing_repeats(const StudyRecord& record,
                                             const std::vector<const TrialRecord*>& configurations,
                                             std::int64_t repeats);

/// What became of one configuration.
struct Repeated {
    const TrialRecord* first = nullptr;  ///< of the study that found it
    std::vector<double> values;          ///< of its repeats that are complete
    std::int64_t failed = 0;             ///< of its repeats, that ended without a value
    double mean = 0;
    std::optional<double> deviation;  ///< standard deviation; nothing of fewer than two
    bool tied = false;                ///< within two standard errors of the best
};

/// The best mean first; those without a value last.
std::vector<Repeated> rank_repeats(const StudyRecord& record, const std::vector<const TrialRecord*>& configurations,
                                   Direction direction);

/// Trains what is missing, and prints the ranking. Returns the exit code.
int repeat_best(const StudySnapshot& snapshot, std::int64_t top, std::int64_t repeats, bool json);

}  // namespace hpo
