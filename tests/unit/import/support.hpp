#pragma once

#include <string>

#include "hpo/study.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::importing {

/// Returns a line "NAME: DESCRIPTION" for each parameter of the search space, in its order.
inline std::string dimensions(const Study& study) {
    std::string text;
    for (const Dimension& dimension : study.space) text += dimension.name + ": " + describe(dimension) + "\n";
    return text;
}

}  // namespace hpo::importing
