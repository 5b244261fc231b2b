// What the ended trials of another study tell a new one (`warm_start`): configurations in terms of the new space, and
// how good they were among themselves.
//
// Values of two studies cannot be compared as they are: another metric, other data, another length. So each study's
// trials are ranked, and a rank becomes the value that a normal variable has there (normal scores; Salinas, Shen,
// Perrone: "A quantile-based approach for hyperparameter transfer learning", ICML 2020).
//
// The spaces may differ. What both have counts. What the other study fixed, or left at its worker's default, is taken
// to have had that value; what it did not know is drawn from the priors, so that it says nothing. A trial whose values
// lie outside the new space is left out, and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo {

struct PriorTrial {
    Params params;     ///< as far as they are known: values that the new space holds
    double score = 0;  ///< smaller is better; over all trials of a study of mean 0 and variance 1, nearly
};

struct PriorStudy {
    std::string name;
    std::vector<PriorTrial> trials;
    std::int64_t outside = 0;         ///< trials that were left out
    std::vector<std::string> common;  ///< parameters of the new space that both studies vary
    std::vector<std::string> drawn;   ///< those that are not known of the other study
};

/// Of all trials that have ended: the value counts that a trial has reached, also of one that was stopped; those that
/// diverged or failed are the worst.
PriorStudy prior_study(const Study& study, const Study& other, const StudyRecord& record);

/// "phase1: 60 trials; lr, width in common; 4 outside this space; depth is drawn".
std::string describe(const PriorStudy& study);

/// As text that reads back as the same: what a study keeps of those that it began with.
std::string write_prior_studies(const std::vector<PriorStudy>& studies);
Result<std::vector<PriorStudy>> read_prior_studies(std::string_view text);

}  // namespace hpo
