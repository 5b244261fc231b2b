// The ended trials of another study as a new study uses them (`warm_start`): their configurations in the new space, and
// their scores relative to each other.
//
// The values of two studies cannot be compared directly, since their metrics, data and lengths may differ. Each study's
// trials are therefore ranked, and a rank is replaced by the normal quantile (normal scores; Salinas, Shen, Perrone: "A
// quantile-based approach for hyperparameter transfer learning", ICML 2020).
//
// The spaces may differ. Parameters that both studies vary keep their values. A parameter that the other study fixed,
// or left at its worker's default, has that value in all its trials. A parameter that the other study does not tell
// is drawn from the priors, so that nothing is learnt about it. Trials with values outside the new space are left out
// and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// An ended trial of another study.
struct PriorTrial {
    Params params;     ///< the known parameters, with values of the new space
    double score = 0;  ///< smaller is better; the scores of a study have about mean 0 and variance 1
};

/// Another study, as a new study uses it.
struct PriorStudy {
    std::string name;
    std::vector<PriorTrial> trials;
    std::int64_t outside = 0;         ///< trials that were left out
    std::vector<std::string> common;  ///< parameters of the new space that both studies vary
    std::vector<std::string> drawn;   ///< parameters of the new space that the other study does not tell
    std::string missing;              ///< which of its reported results a damage has taken, in words; is not stored
};

/// Returns the ended trials of `other`, as `study` uses them. A trial counts with the value that it has reached, even
/// if it was stopped. Diverged and failed trials are the worst.
PriorStudy prior_study(const Study& study, const Study& other, const StudyRecord& record);

/// Returns a text such as "phase1: 60 trials; lr, width in common; 4 outside this space; depth is drawn".
std::string describe(const PriorStudy& study);

/// Writes the studies that a study was started with as a text to store, and reads that text back.
std::string write_prior_studies(const std::vector<PriorStudy>& studies);
Result<std::vector<PriorStudy>> read_prior_studies(std::string_view text);

}  // namespace hpo
