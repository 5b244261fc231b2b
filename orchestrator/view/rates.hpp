// Formats rates and short times.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "hpo/text.hpp"

namespace hpo::view {

inline std::string bandwidth_text(double rate) { return rate > 0 ? bytes_text(rate) + "/s" : "-"; }

}  // namespace hpo::view
