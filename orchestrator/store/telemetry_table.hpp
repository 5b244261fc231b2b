// The table of telemetry in a study's database. The first row creates it, so that databases without it and older
// versions of hpo keep working.
#pragma once

#include <span>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/telemetry_row.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo {

/// Adds rows, within the caller's transaction.
Result<void> insert_telemetry(sqlite::Database& database, std::span<const TelemetryRow> rows);

/// Returns all rows in the order of their storage; none if there is no table.
Result<std::vector<TelemetryRow>> read_telemetry(sqlite::Database& database);

}  // namespace hpo
