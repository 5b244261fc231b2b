// Fills the placeholders of commands, such as "--lr={lr}". Nothing passes through a shell, so a value never becomes
// more than one argument.
//
//     {lr}                       the parameter's value
//     {flag:tied:--tied}         --tied if the parameter is true; otherwise the argument is left out
//     {flag:tied:--tied:--no-t}  --tied if the parameter is true, --no-t if it is false
//     {params:config.yaml}       the path of a file with all parameters, nested at the dots of their names
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::script {

/// The placeholders that are not parameters.
inline constexpr std::array<std::string_view, 7> own_names{"params_file", "folder",    "trial", "steps",
                                                           "seed",        "data_seed", "home"};

/// A text that resembles a placeholder but is none: {lr:.4f}, { lr }, {file:x}; or one that a '$' precedes, as a
/// shell's variables have it: ${lr}.
struct Lookalike {
    std::string_view text;  ///< with its braces
    std::string_view name;  ///< the word that it begins with
    std::string_view rest;  ///< the part after a ':' or '!'; otherwise empty
};
/// Returns the lookalikes of a text as views into it. Braces around other texts, as in JSON, are none, and neither are
/// a shell's expansions such as ${NAME:-1}.
std::vector<Lookalike> lookalikes(std::string_view text);

/// Returns true if a parameter of this name cannot have a placeholder, because hpo defines that placeholder. `seed` is
/// allowed, since a parameter of that name is the trial's seed.
bool hides(std::string_view name);

/// Returns all placeholders in their order, with repetitions and without their braces, as views into `text`. Braces
/// that do not enclose a placeholder are text. {{lr}} is the text {lr}, and {{file:x}} is {file:x}.
std::vector<std::string_view> placeholders(std::string_view text);

/// The parts of a placeholder.
struct Placeholder {
    enum class Kind { value, flag, params };
    Kind kind = Kind::value;
    std::string name;                       ///< of the parameter, or of the file for `params`
    std::string if_true;                    ///< text of a flag
    std::optional<std::string> if_false{};  ///< text of a flag
    std::string problem{};                  ///< why it is not a placeholder, with the cure; empty if it is one
};
/// Splits a placeholder, given without its braces, into its parts.
Placeholder take_apart(std::string_view placeholder);

/// Returns the text of a placeholder, or nothing if it has no value in this trial because its parameter is inactive or
/// null.
using Lookup = std::function<std::optional<std::string>(const std::string& placeholder)>;

/// A range [first, last) of a command's arguments.
using ArgumentRange = std::pair<std::size_t, std::size_t>;

/// Returns the text with its placeholders filled, or nothing if a placeholder has no value.
std::optional<std::string> fill(std::string_view text, const Lookup& lookup);

/// Returns the command of a trial. An argument with a placeholder that has no value is left out, and so is an option
/// before it, as in ["--momentum", "{momentum}"]. An `optional` range is left out as a whole.
std::vector<std::string> fill(const std::vector<std::string>& command, const std::vector<ArgumentRange>& optional,
                              const Lookup& lookup);

/// Returns true if a file in a trial's folder may have this name: at most 64 letters, digits, '_', '-' and '.', the
/// first not '-' or '.'.
bool is_file_name(std::string_view name);

/// Returns the environment variable of a parameter, in capitals, digits and underscores: HPO_PARAM_WEIGHT_DECAY for
/// weight_decay. Letters beyond ASCII become 'U' and their code points: HPO_PARAM_GRU00F6U00DFE for größe.
std::string variable_of(std::string_view name);

}  // namespace hpo::script
