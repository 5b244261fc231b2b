// Makes configuration files of a trial: a template with its placeholders filled, or all parameters as JSON or YAML.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/value.hpp"

namespace hpo::script {

/// The format of a file, by the end of its name. It decides how values are written.
enum class Format { text, json, yaml, toml };
Format format_of(std::string_view file_name);

/// Returns the value of a placeholder; nothing if it has none in this trial.
using Values = std::function<std::optional<Value>(const std::string& placeholder)>;

/// Fills a template. Within quotes a value is escaped as the quotes require. A placeholder that stands alone becomes a
/// value of the format, with texts quoted; elsewhere it becomes plain text. Without a value it becomes null in JSON and
/// YAML; in other files its line is left out.
std::string fill_file(std::string_view text, Format format, const Values& values);

/// Returns all parameters, nested at the dots of their names. `format` is json or yaml.
std::string params_text(const Params& params, Format format);

/// Returns a parameter that would have to be a value and a map at once ("a" if there is "a.b"); empty if there is none.
std::string clash_of_names(const Params& params);

}  // namespace hpo::script
