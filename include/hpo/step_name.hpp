// The word for a step of a study.
#pragma once

#include <string>

#include "hpo/study.hpp"

namespace hpo {

/// Returns "epoch" for the native worker and "step" for a script or a study without a worker.
inline std::string step_name(const Study& study) { return study.native() ? "epoch" : "step"; }

/// Returns "1 epoch", "9 epochs".
inline std::string steps_text(const Study& study, std::int64_t steps) {
    return std::to_string(steps) + " " + step_name(study) + (steps == 1 ? "" : "s");
}

/// Returns "7/20", or "7" if trials end by themselves.
inline std::string progress_text(const Study& study, std::int64_t steps) {
    return std::to_string(steps) + (study.budget.open ? "" : "/" + std::to_string(study.budget.epochs));
}

}  // namespace hpo
