// A first study for a script: its flags become the space. Pure.
#pragma once

#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "orchestrator/init/study_for_data.hpp"

namespace hpo::init {

/// Returns the study for a Python script with this text. An Error if no flag of the script can be varied.
Result<FirstStudy> study_for_script(const std::string& path, std::string_view python);

}  // namespace hpo::init
