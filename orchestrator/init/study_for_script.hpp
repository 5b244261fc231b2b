// A first study for a script: its flags become the space. Pure.
#pragma once

#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "orchestrator/init/hydra_flags.hpp"
#include "orchestrator/init/study_for_data.hpp"

namespace hpo::init {

/// Returns the study for a Python script with this text. An Error if no flag of the script can be varied. `read` reads
/// the files of a script's configuration.
Result<FirstStudy> study_for_script(const std::string& path, std::string_view python,
                                    const ReadConfiguration& read = no_configuration);

}  // namespace hpo::init
