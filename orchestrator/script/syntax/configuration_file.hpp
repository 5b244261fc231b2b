// Configuration files of a trial: a template with its placeholders filled, or all parameters as JSON or YAML.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/value.hpp"

namespace hpo::script {

/// How a value is written so that a file stays valid: by the end of its name.
enum class Format { text, json, yaml, toml };
Format format_of(std::string_view file_name);

/// Nothing: the name has no value in this trial.
using Values = std::function<std::optional<Value>(const std::string& placeholder)>;

/// A configuration file of its template. Within quotes a value's text is escaped as they ask for; where it stands alone
/// it is written as the format writes it, texts quoted; elsewhere it is plain text. What has no value is null in JSON
/// and YAML; in other files the lines that hold it are left out.
std::string fill_file(std::string_view text, Format format, const Values& values);

/// All parameters, nested at the dots of their names; `format` is json or yaml.
std::string params_text(const Params& params, Format format);

/// The parameter that would have to be a value and a map at once ("a" beside "a.b"); empty: there is none.
std::string clash_of_names(const Params& params);

}  // namespace hpo::script
