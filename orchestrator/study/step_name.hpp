// What a step of a study is called.
#pragma once

#include <string>

#include "hpo/study.hpp"

namespace hpo {

/// "epoch" where the native worker trains, else "step".
inline std::string step_name(const Study& study) {
    return study.command.empty() && !study.worker.empty() ? "epoch" : "step";
}

/// "1 epoch", "9 epochs".
inline std::string steps_text(const Study& study, std::int64_t steps) {
    return std::to_string(steps) + " " + step_name(study) + (steps == 1 ? "" : "s");
}

}  // namespace hpo
