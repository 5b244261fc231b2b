// What placeholders become in one trial, and the files that are written for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"
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

/// Seeds of scripts are below this: NumPy takes 32 bits, others a signed int.
inline constexpr std::uint64_t seeds = std::uint64_t{1} << 31;

class TrialValues {
   public:
    /// `home`: what {home} gives. `run` outlives it.
    TrialValues(const to_worker::Run& run, std::string home) : run_(run), home_(std::move(home)) {}

    /// For a command. {params_file} and {params:NAME} write their file.
    std::optional<std::string> operator()(const std::string& placeholder);
    /// For a file.
    [[nodiscard]] std::optional<Value> value(const std::string& placeholder);

    /// Writes a file into the trial's folder.
    void write(const std::string& name, const std::string& text);
    /// Of a file that could not be written; empty: none.
    [[nodiscard]] const std::string& problem() const { return problem_; }

   private:
    std::string write_params(const std::string& name, const std::string& text);

    const to_worker::Run& run_;
    std::string home_;
    std::string problem_;
};

}  // namespace hpo::script
