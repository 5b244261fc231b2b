// The ends of a study's trials. For a trial that a rule stopped, the end is predicted from its curve
// (stopping/curve_model.hpp), provided that curves in this study have proved predictive.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo::analysis {

struct End {
    double loss = 0;       ///< smaller is better; a trial that diverged or failed has the model's worst value
    double deviation = 0;  ///< standard deviation of a predicted end, calibrated on the trials trained to their end
    bool predicted = false;
    std::string rule;  ///< the rule that stopped the trial
};

struct Ends {
    /// The ends in the order of record.trials. Absent if a trial has not ended or nothing is known about its end.
    std::vector<std::optional<End>> of;
    std::int64_t trained = 0, predicted = 0,
                 left_out = 0;  ///< numbers of trials; stopped trials whose curves predict nothing are left out
    bool calibrated = false;    ///< true if enough trials were trained to their end to calibrate the deviations
};

/// Returns the ends of all trials. `record` must have whole curves.
Ends ends_of(const Study& study, const StudyRecord& record);

/// The expected cost of a rule's stopping. `chance` is the probability that at least one of the trials that it stopped
/// would have ended better than the best trial did. `regret` is the expected improvement, counting 0 where no trial
/// would have ended better.
struct Cost {
    double chance = 0, regret = 0;
};
/// Returns the cost of each rule that stopped trials. Empty if fewer than eight trials were trained to their end, or if
/// the end of some stopped trial cannot be predicted.
std::map<std::string, Cost> costs_of_stopping(const Ends& ends, std::uint64_t seed);

}  // namespace hpo::analysis
