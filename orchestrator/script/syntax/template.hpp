// Commands with placeholders: "--lr={lr}" becomes an argument for each trial. Nothing here ever passes through a shell:
// whatever a value holds, it stays a part of one argument.
//
//     {lr}                       the parameter's value
//     {flag:tied:--tied}         --tied where the parameter is true, else nothing: its argument is left out
//     {flag:tied:--tied:--no-t}  the second text where it is false
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

/// What a command can say of its trial, beside the names of parameters.
inline constexpr std::array<std::string_view, 7> own_names{"params_file", "folder",    "trial", "steps",
                                                           "seed",        "data_seed", "home"};

/// Whether a parameter of this name cannot be said, since the word means something else. `seed` can: a parameter of
/// that name is the trial's seed.
bool hides(std::string_view name);

/// What stands in braces, in its order, each as often as it stands there: views into `text`. A brace that encloses no
/// placeholder is text; "{{" and "}}" around one are braces around text: {{lr}} becomes {lr}.
std::vector<std::string_view> placeholders(std::string_view text);

/// What stands in braces, taken apart.
struct Placeholder {
    enum class Kind { value, flag, params };
    Kind kind = Kind::value;
    std::string name;                       ///< of the parameter; params: of the file
    std::string if_true;                    ///< flag
    std::optional<std::string> if_false{};  ///< flag
    std::string problem{};                  ///< why it is none, with the cure; empty: it is one
};
Placeholder take_apart(std::string_view placeholder);

/// What a placeholder becomes. Nothing: it has no value in this trial (a parameter that is not active, or null).
using Lookup = std::function<std::optional<std::string>(const std::string& placeholder)>;

/// [first, last) of a command.
using Stretch = std::pair<std::size_t, std::size_t>;

/// The text with its values; nothing if one of them has none.
std::optional<std::string> fill(std::string_view text, const Lookup& lookup);

/// The command of a trial. An argument with a placeholder that has no value is left out, and so is an option of its own
/// before a value: ["--momentum", "{momentum}"]; of an `optional` stretch all of it.
std::vector<std::string> fill(const std::vector<std::string>& command, const std::vector<Stretch>& optional,
                              const Lookup& lookup);

/// What a file in a trial's folder may be called: letters, digits, '_', '-' and '.', a letter, '_' or digit first.
bool is_file_name(std::string_view name);

/// HPO_PARAM_WEIGHT_DECAY of weight_decay: capitals, digits and underscores.
std::string variable_of(std::string_view name);

}  // namespace hpo::script
