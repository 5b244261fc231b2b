// Reading a model's leaf keys: a value given, or the default of worker_keys.hpp; range and words checked by that table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/value.hpp"

namespace hpo {

/// `name` must be a key of the table and of the type asked for: anything else is a bug. Fails on a value of another
/// type or outside the table's bounds or words.
Result<std::int64_t> integer_setting(const Params& params, std::string_view name);
Result<std::string> text_setting(const Params& params, std::string_view name);
/// Absent: an empty list.
Result<std::vector<std::int64_t>> list_setting(const Params& params, std::string_view name);

}  // namespace hpo
