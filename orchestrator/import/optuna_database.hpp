// Reads studies of Optuna from a file, which stays as it is: a database (RDBStorage on SQLite, Optuna 2.4 and later) or
// a journal (JournalStorage).
#pragma once

#include <filesystem>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/import/optuna_study.hpp"

namespace hpo::importing {

/// Reads the study with this name, or the only one if the name is empty, as it is at one moment. Another program may
/// use the file at the same time. Fails, with the file and the cure, for other files, older schemas, unknown names
/// (with those that there are), and a database that stays locked.
Result<OptunaStudy> read_optuna(const std::filesystem::path& file, const std::string& name);

}  // namespace hpo::importing
