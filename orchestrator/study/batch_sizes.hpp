// `policy.min_batch_size`: batch sizes that the study varies or fixes, and the least one that is allowed. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "hpo/study.hpp"
#include "hpo/value.hpp"

namespace hpo {

/// Returns the number of samples of an update: the batch size in `params`, or the one that the native worker chooses
/// for this number of training samples.
std::int64_t batch_size_of(const Params& params, std::int64_t training_samples);

/// Returns the smallest batch size of a study with a native worker, for this number of training samples.
std::int64_t smallest_batch_size(const Study& study, std::int64_t training_samples);

/// Returns true if the number of training samples decides whether a batch size of the study is allowed. False for
/// studies without the native worker.
bool batch_sizes_depend_on_data(const Study& study);

/// Returns why the smallest batch size of a native worker's study is refused for this number of training samples (0:
/// unknown), and the cure. Empty if it is allowed.
std::string refused_batch_size(const Study& study, std::int64_t training_samples);

/// Returns "SUBJECT is under policy.min_batch_size (256): ..." with the cure. `data` names the facts on which the
/// minimum depends.
std::string small_batch_text(const std::string& subject, std::int64_t least, std::int64_t size,
                             const std::string& data = {});

}  // namespace hpo
