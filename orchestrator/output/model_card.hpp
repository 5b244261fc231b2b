// The model card of a trained model: a page in Markdown for those who get the file.
#pragma once

#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// Returns the card of the model in the file `model`, which was trained by `study`, a single configuration. `scores`
/// are its results on the test part; those named baseline_NAME are of a constant prediction.
std::string model_card(const Study& study, const Metrics& scores, const std::string& model);

}  // namespace hpo
