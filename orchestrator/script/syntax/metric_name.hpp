// The names of metrics in files, as other programs write them: "Valid Loss" of a file is Valid_Loss of a study.
#pragma once

#include <string>
#include <string_view>

#include "hpo/trial.hpp"

namespace hpo::script {

/// Returns the name that a study uses for `name`, as the stand-ins do (worker/python/hpo/standin.py): each character
/// other than letters, digits and ._-/ is an underscore, the first character is a letter or an underscore, and the
/// length is at most 64. Returns an empty text for an empty name.
std::string metric_name_of(std::string_view name);

/// Returns the objective if `name` or metric_name_of() it is the objective's, and otherwise metric_name_of() it.
inline std::string metric_of(std::string_view name, std::string_view objective) {
    return name == objective ? std::string(objective) : metric_name_of(name);
}

/// Sets a metric. Ignores an empty name, and new names beyond max_metrics.
void add(Metrics& metrics, const std::string& name, double number);

}  // namespace hpo::script
