// The folders of the sources and the build. Only paths.cpp.in contains them, so that clones in different folders can
// share compiler results for all other files.
#pragma once

#include <string>

namespace hpo::testing {

/// Returns the root of the sources, without a slash at its end.
std::string source_folder();
/// Returns the root of the build.
std::string build_folder();

}  // namespace hpo::testing
