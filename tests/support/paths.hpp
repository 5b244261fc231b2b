// Where the sources and the build lie. One small file knows it (paths.cpp.in), so that clones in different folders
// share what ccache keeps of all the others.
#pragma once

#include <string>

namespace hpo::testing {

/// The root of the sources, without a slash at its end.
std::string source_folder();
/// The root of the build.
std::string build_folder();

}  // namespace hpo::testing
