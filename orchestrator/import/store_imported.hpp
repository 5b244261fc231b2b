// Stores a study whose trials have ended elsewhere, as if hpo had run it.
#pragma once

#include "hpo/result.hpp"
#include "orchestrator/import/optuna_study.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo::importing {

/// Creates the study's folder with all its trials. Fails without a trace if the folder holds a study already, cannot be
/// written, or is held by another process.
Result<void> store_imported(const ImportedStudy& imported, const StudyFolder& folder);

}  // namespace hpo::importing
