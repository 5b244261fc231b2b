// Predicts from the file of a model and a file or folder of data.
#pragma once

#include <filesystem>
#include <string>

#include "hpo/result.hpp"
#include "worker/backends/backend.hpp"

namespace hpo {

/// Writes the predictions as CSV (prediction_table.hpp) to `output`, which is replaced. Returns a JSON object: `rows`,
/// `scored` (rows whose targets the data has), `score` and `warnings`. Errors name the file and the place.
Result<std::string> predict(Device& device, const std::filesystem::path& model, const std::filesystem::path& data,
                            const std::filesystem::path& output);

}  // namespace hpo
