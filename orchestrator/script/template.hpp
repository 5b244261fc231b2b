// Commands with placeholders: "--lr={lr}" becomes an argument for each trial. Nothing here ever passes through a shell:
// whatever a value holds, it stays a part of one argument.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

/// What a command can say of its trial, beside the names of parameters.
inline constexpr std::array<std::string_view, 6> own_names{"params_file", "folder", "trial",
                                                           "steps",       "seed",   "data_seed"};

/// Whether a parameter of this name cannot be said, since the word means something else. `seed` can: a parameter of
/// that name is the trial's seed.
bool hides(std::string_view name);

/// The names in braces, in their order, each as often as it stands there. A brace that encloses no name is text; "{{"
/// and "}}" around a name are braces around text: {{lr}} becomes {lr}.
std::vector<std::string> placeholders(std::string_view text);

/// Nothing: the name has no value in this trial (a parameter that is not active).
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The text with its values; nothing if one of them has none.
std::optional<std::string> fill(std::string_view text, const Lookup& lookup);

/// The command of a trial. An argument with a name that has no value is left out, and so is an option of its own before
/// it: ["--momentum", "{momentum}"].
std::vector<std::string> fill(const std::vector<std::string>& command, const Lookup& lookup);

/// HPO_PARAM_WEIGHT_DECAY of weight_decay: capitals, digits and underscores.
std::string variable_of(std::string_view name);

}  // namespace hpo::script
