// Asks Git for the state of the code that a study runs.
#pragma once

#include "hpo/study.hpp"
#include "orchestrator/page/columns.hpp"

namespace hpo::page {

/// Returns the commit of the folder in which the study's trials run, as it is now; null outside a repository.
Json git_state(const Study& study);

}  // namespace hpo::page
