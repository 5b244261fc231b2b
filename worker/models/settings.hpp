// Values of leaf keys, checked against the table in worker_keys.hpp, or its defaults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/value.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

/// `value` in the key's own type (256.0 becomes 256). The error names the key and its allowed values.
Result<Value> checked_value(const WorkerKey& key, const Value& value);

/// The value of key `name` in `params`, or its default; a list defaults to an empty one. `name` must be a key of the
/// table with this type: anything else is a bug. Errors are checked_value's.
Result<std::int64_t> integer_setting(const Params& params, std::string_view name);
Result<double> real_setting(const Params& params, std::string_view name);
Result<bool> flag_setting(const Params& params, std::string_view name);
Result<std::string> text_setting(const Params& params, std::string_view name);
Result<std::vector<std::int64_t>> list_setting(const Params& params, std::string_view name);

/// The value of `base_width` with `parametrization: mup`, where it must be given; otherwise 0.
Result<std::int64_t> base_width_setting(const Params& params);

/// Returns why a model of this type cannot have the samples, and which can, as the end of an error message.
std::string wrong_samples(const SampleShape& samples);

/// Returns the activation of this name; relu for names other than gelu and silu.
Activation activation_of(std::string_view name);
/// The value of `activation`, by default relu. The error: swiglu, which is for transformers.
Result<Activation> activation_setting(const Params& params);

}  // namespace hpo
