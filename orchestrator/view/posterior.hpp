// The ranking of configurations by a model of all trainings (hpo best --by model).
#pragma once

#include <string>

#include "orchestrator/sampling/posterior_ranking.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Returns "0.0911 +- 0.002".
std::string expected_text(const Expected& expected);

/// Returns a table of the `most` best configurations, and the deviation of a training from another one.
std::string draw_posterior(const Study& study, const StudyRecord& record, const PosteriorRanking& ranking,
                           std::size_t most, const Screen& screen);

/// Returns a sentence if the best configuration by the model is another one than by its value, has at least twice the
/// chance of being the best, and is expected to be better by half a deviation; else an empty text.
std::string better_choice_text(const Study& study, const StudyRecord& record, const PosteriorRanking& ranking);

}  // namespace hpo::view
