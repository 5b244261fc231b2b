// Reads studies from a database of Optuna (RDBStorage on SQLite, Optuna 2.4 and later), which stays as it is.
#pragma once

#include <filesystem>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/import/optuna_study.hpp"

namespace hpo::importing {

/// Reads the study with this name, or the only one if the name is empty, as it is at one moment. Another program may
/// use the database at the same time. Fails, with the file and the cure, for other files, older schemas, unknown names
/// (with those that there are), and a database that stays locked.
Result<OptunaStudy> read_optuna_database(const std::filesystem::path& file, const std::string& name);

}  // namespace hpo::importing
