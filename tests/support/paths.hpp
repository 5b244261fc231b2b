// The folders of the sources and the build. Only paths.cpp.in contains them, so that clones in different folders share
// ccache's results for all other files.
#pragma once

#include <string>

namespace hpo::testing {

/// The root of the sources, without a slash at its end.
std::string source_folder();
/// The root of the build.
std::string build_folder();

}  // namespace hpo::testing
