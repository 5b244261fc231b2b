// Where the trials of a study ended, or would have: those that a rule stopped are given the end that is predicted of
// their curves (stopping/curve_model.hpp), as far as the study has shown that curves tell it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo::analysis {

struct End {
    double loss = 0;       ///< smaller is better; a trial that diverged or failed has the worst that counts
    double deviation = 0;  ///< of a predicted one; scaled to hold for the trials that were trained to their end
    bool predicted = false;
    std::string rule;  ///< that stopped it
};

struct Ends {
    std::vector<std::optional<End>> of;  ///< in the order of record.trials; absent: not ended, or nothing is known
    std::int64_t trained = 0, predicted = 0,
                 left_out = 0;  ///< trials; left out: stopped, and their curves tell nothing
    bool calibrated = false;    ///< enough trials were trained to their end to scale the deviations by
};

/// `record` has whole curves.
Ends ends_of(const Study& study, const StudyRecord& record);

/// What a rule may have cost: the chance that at least one of the trials that it stopped would have ended better than
/// the best one did, and by how much on average, whether or not one would. Absent where that is not known: fewer than
/// eight trials were trained to their end, or no trial was stopped.
struct Cost {
    double chance = 0, regret = 0;
};
std::map<std::string, Cost> costs_of_stopping(const Ends& ends, std::uint64_t seed);

}  // namespace hpo::analysis
