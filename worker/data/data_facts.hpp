// Facts about data without a study, for hpo init: the contents of a file or a folder, before the user has chosen the
// target. Read by the readers of training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hpo/result.hpp"

namespace hpo {

/// Describes the data as one JSON object, by docs/protocol.md. `format` is that of worker.data.format. `target`, which
/// only tables and arrays have, is the column to predict or a list of several ("a,b"), whose values are counted; empty:
/// none. Errors name the file, the line and the column.
Result<nlohmann::json> data_facts(const std::string& format, const std::filesystem::path& path,
                                  const std::string& target);

}  // namespace hpo
