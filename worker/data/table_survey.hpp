// Surveys the columns of a table, by reading all of its rows twice.
#pragma once

#include "hpo/result.hpp"
#include "worker/data/table.hpp"
#include "worker/data/table_source.hpp"

namespace hpo {

/// Fills a table of which the file alone is known. Errors name the key, or the file, the place and the column.
Result<void> survey_columns(const DataConfig& config, TableSource& source, Table& table);

}  // namespace hpo
