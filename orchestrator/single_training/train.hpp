// Trains one configuration of the native worker to its end and keeps its weights, for hpo train.
#pragma once

#include <functional>
#include <string>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/preview/samples.hpp"

namespace hpo {

/// Throws Fatal unless the study, which was read from `file`, is a single configuration for the native worker.
void refuse_untrainable(const Study& study, const std::string& file);

/// Replaces folds by one split, whose validation part is as large as a fold, since a file holds one model. Returns a
/// sentence about the change; empty: there are no folds.
std::string take_one_fold(Study& study);

struct TrainingListener {
    std::function<void(const std::string& text)> say;    ///< about devices, micro-batches, earlier files
    std::function<void(std::int64_t step)> resumed;      ///< after this step of an interrupted training
    std::function<void(const Report& report)> reported;  ///< each step
};

/// Trains on the first device and writes the weights of the best step to `output`. The weights of the best step so far
/// and a checkpoint of the last step lie in OUTPUT.parts meanwhile; an interrupted training of the same configuration
/// resumes from them. Returns the metrics on the test split. Throws Refusal if the worker rejects the configuration,
/// and Fatal if it does not fit or its training fails.
Metrics train_to_file(const CheckedStudy& checked, OutputPath& output, const TrainingListener& listener);

}  // namespace hpo
