// Reads a study from the journal of Optuna's JournalStorage: a JSON object a line, one for each operation. Pure.
#pragma once

#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "orchestrator/import/optuna_study.hpp"

namespace hpo::importing {

/// Reads the study with this name, or the only one if the name is empty. A last line without its end is being written
/// and does not count. The error of a line that is no operation has its number after `source`.
Result<OptunaStudy> read_optuna_journal(std::string_view text, const std::string& source, const std::string& name);

}  // namespace hpo::importing
