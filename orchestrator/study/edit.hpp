// Changes single keys in the text of a study file and leaves all else as it was written, comments included.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/options.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// A dotted key (`training.precision` below `worker`) and its new value as YAML.
using KeyAndValue = std::pair<std::string, std::string>;

/// Returns the text with these values. A key that exists has its value replaced where it stands; a missing one is added
/// to its section. Fails if the result would not be the study that `--set` makes of the same keys, and names the key
/// that cannot be changed in place.
Result<std::string> edit_study(std::string_view text, const std::string& file_name,
                               std::span<const KeyAndValue> changes, const Vocabulary& vocabulary = {});

}  // namespace hpo
