// Creates a trial's configuration files: a template with its placeholders filled, or all parameters as JSON or YAML.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/value.hpp"

namespace hpo::script {

/// The format of a configuration file, which determines how values are written.
enum class Format { text, json, yaml, toml };
/// Returns the format for the extension of the name; `text` if it is unknown.
Format format_of(std::string_view file_name);

/// Returns the value of a placeholder, or nothing if it has none in this trial.
using Values = std::function<std::optional<Value>(const std::string& placeholder)>;

/// Fills a template. Within quotes, a value is escaped as the quotes require. A placeholder that is a whole value by
/// itself becomes a value of the format, with texts quoted. Elsewhere it becomes plain text. A placeholder without a
/// value becomes null in JSON and YAML. In other files its line is left out.
std::string fill_file(std::string_view text, Format format, const Values& values);

/// Returns all parameters, nested at the dots of their names. `format` must be json or yaml.
std::string params_text(const Params& params, Format format);

/// Formats a number with a decimal point, since some YAML readers read 3e-04 as a text.
std::string yaml_number(double number);

/// Returns a parameter that would have to be a value and a map at once, such as "a" if there is also "a.b". Returns an
/// empty text if there is none.
std::string clash_of_names(const Params& params);

}  // namespace hpo::script
