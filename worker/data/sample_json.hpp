// The shape of a sample as a JSON object: the entry `input` of a model's file (safetensors.hpp).
//
// `kind` is vector (with `features`, and for tables `categories`, pairs of a first feature and a number of levels),
// image (`height`, `width`, `channels`), sequence (`steps`, `features`) or tokens (`steps`, `vocabulary`).
// `target_per_step` is true where each step of a sequence has a target.
#pragma once

#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

std::string sample_json(const DataShape& shape);

/// Reads DataShape::sample, categories and target_per_step; the other members have their defaults. Errors name the
/// entry: extents from 1 to 2^31 are accepted, with at most 2^31 numbers a sample.
Result<DataShape> parse_sample_json(std::string_view text);

}  // namespace hpo
