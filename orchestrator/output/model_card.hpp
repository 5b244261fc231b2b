// The model card of a trained model: a page in Markdown for those who get the file.
#pragma once

#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// Returns the card of the model in the file `model`, which was trained by `study`, a single configuration. `scores`
/// named test_NAME are of the test part, val_NAME of the validation part, baseline_NAME of a constant prediction for
/// the test part, and others of the training part.
std::string model_card(const Study& study, const Metrics& scores, const std::string& model);

}  // namespace hpo
