// Flags of a Python script, found in its text without running it: the calls of argparse's add_argument. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::init {

struct Flag {
    std::string option;                ///< "--learning-rate", as it is written on the command line, or "data"
    std::string type;                  ///< "int", "float", "str" or another name; empty: not given
    std::string fallback;              ///< the default as Python text; empty: none
    std::vector<std::string> choices;  ///< without quotes
    bool takes_value = true;           ///< false for store_true and its like
    bool required = false;             ///< the script does not start without it
    [[nodiscard]] bool positional() const { return !option.starts_with('-'); }
    [[nodiscard]] std::string name() const;  ///< "learning_rate"
};

std::vector<Flag> script_flags(std::string_view python);

/// Returns the name of the metric that the script probably prints or reports, such as "val_accuracy". Empty if none of
/// the usual names occurs in its text.
std::string likely_metric(std::string_view python);

/// Says whether smaller values of the metric are better, by its name.
bool is_minimized(std::string_view metric);

}  // namespace hpo::init
