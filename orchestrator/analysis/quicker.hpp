// Finds trials that are nearly as good as the best one and took much less time: the front of quality and cost.
#pragma once

#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo::analysis {

struct Timed {
    const TrialRecord* trial = nullptr;
    double seconds = 0;  ///< of its training, to its last step
};

/// Returns complete trials of which no other is as good and as quick, the best first and each at most two thirds as
/// long as the one before. The first is the study's best trial; all others are better than the median of the complete
/// trials by at least nine tenths of its lead. Their times compare: they trained on the same device and host as the
/// best. Empty if the time of the best is not known, the study has several objectives or constraints, or fewer than
/// eight trials are complete.
std::vector<Timed> front_of_time(const Study& study, const StudyRecord& record);

/// Returns the front without its first trial in words: "trial 7 has 0.0241 after 41 s; the best took 3m 10s". Empty if
/// no other trial is on it.
std::string quicker_text(const std::vector<Timed>& front);

}  // namespace hpo::analysis
