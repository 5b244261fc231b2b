// Flags of a Python script, found in its text without running it: the calls of argparse's add_argument, and of Click's
// option and argument. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::init {

struct Flag {
    std::string option;                ///< "--learning-rate", as it is written on the command line; "data"; "model.lr"
    std::string called;                ///< the name within the script, where it has one of its own; else empty
    std::string type;                  ///< "int", "float", "str" or another name; empty: not given
    std::string fallback;              ///< the default as Python text; empty: none
    std::vector<std::string> choices;  ///< without quotes
    bool takes_value = true;           ///< false for store_true and its like
    bool required = false;             ///< the script does not start without it
    bool assigned = false;             ///< an override of Hydra, written as model.lr=0.1
    std::optional<double> least{}, most{};  ///< bounds that the script checks
    [[nodiscard]] bool positional() const { return !assigned && !option.starts_with('-'); }
    [[nodiscard]] std::string name() const;  ///< "learning_rate", "model.lr"
    [[nodiscard]] std::string word() const;  ///< name() without the groups of its configuration: "lr"
};

std::vector<Flag> script_flags(std::string_view python);

/// Returns the name of the metric that the script probably prints or reports, such as "val_accuracy": the best of the
/// usual names before a number in its texts ("val acc: {acc:.2f}" prints val_acc), else of those in its text. Empty if
/// there is none.
std::string likely_metric(std::string_view python);

/// Where a script prints or logs, as far as its text tells.
enum class Prints { nowhere, once, in_loop };

/// Returns in_loop also where a loop calls a function of the script that prints, and where the script speaks of epochs:
/// a library may print them.
Prints where_it_prints(std::string_view python);

/// Says whether smaller values of the metric are better, by its name.
bool is_minimized(std::string_view metric);

}  // namespace hpo::init
