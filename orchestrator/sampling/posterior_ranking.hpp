// Ranks the configurations that a study has tried by a model of all its trainings. Where trainings are noisy, the best
// of many values is a lucky one. A Gaussian process tells luck from merit by the values of the neighbours, and by those
// of further seeds (Frazier: "A tutorial on Bayesian optimization", arXiv 1807.02811, 2018, section 4.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// The model's prediction for a configuration.
struct Expected {
    std::int64_t trial = 0;  ///< the first trial of the configuration
    double value = 0;        ///< of a further training, in units of the objective
    double deviation = 0;    ///< standard deviation of `value`, which further seeds would reduce
    double chance = 0;       ///< probability of being the best configuration of all ranked ones
};

struct PosteriorRanking {
    std::vector<Expected> configurations;  ///< the best first
    double noise = 0;                      ///< standard deviation from training to training of one configuration
    std::string why_empty;                 ///< without configurations: the reason, a clause about the study
};

/// The least number of trainings for a ranking.
inline constexpr std::size_t fewest_ranked = 10;

/// Ranks the configurations that may be the best (may_be_best), of large studies the better ones, by expected value
/// plus or minus one deviation, whichever is worse: a configuration that is hardly known does not come first. Each
/// training counts, also a further seed of a configuration, but for those that failed or diverged. Losses far above the
/// better quarter count as less. The hyperparameters are those of the highest posterior density, with noise rather than
/// short waves; if leave-one-out predictions miss by more than they should, all deviations are larger by as much. Empty
/// if the study has several objectives, fewer than `fewest_ranked` trainings with a value, or no trial that may be the
/// best. The parameters of the trials must have been read. Fails if the study's space is invalid.
Result<PosteriorRanking> posterior_ranking(const Study& study, const StudyRecord& record);

}  // namespace hpo
