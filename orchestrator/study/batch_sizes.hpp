// `policy.min_batch_size`: batch sizes that the study varies or fixes, and the least one that is allowed. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "hpo/study.hpp"
#include "hpo/value.hpp"

namespace hpo {

/// Returns the number of samples of an update. Without one in `params` it is what the native worker chooses for so many
/// training samples.
std::int64_t batch_size_of(const Params& params, std::int64_t training_samples);

/// Returns the smallest batch size of the study, which is a native worker's, with so many training samples.
std::int64_t smallest_batch_size(const Study& study, std::int64_t training_samples);

/// Says whether the number of training samples decides if a batch size of the study is allowed. False for studies
/// without the native worker.
bool batch_sizes_depend_on_data(const Study& study);

/// Returns why the smallest batch size of a native worker's study is refused for so many training samples (0: unknown),
/// and the cure. Empty if it is allowed.
std::string refused_batch_size(const Study& study, std::int64_t training_samples);

/// Returns "SUBJECT is under policy.min_batch_size (256): ..." with the cure. `data` says what the minimum depends on.
std::string small_batch_text(const std::string& subject, std::int64_t least, std::int64_t size,
                             const std::string& data = {});

}  // namespace hpo
