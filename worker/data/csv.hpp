// Reads CSV files (hpo/csv_reader.hpp), plain or gzip.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/csv_reader.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// A whole file, plain or gzip. Errors name the file.
Result<void> read_csv(const std::filesystem::path& file, const CsvRecord& record);

/// The fields of one line, such as a list of names; an empty text has none.
Result<std::vector<std::string>> csv_fields(std::string_view line);

}  // namespace hpo
