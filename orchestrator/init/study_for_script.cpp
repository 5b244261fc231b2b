#include "orchestrator/init/study_for_script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "hpo/batch_size.hpp"
#include "hpo/from_chars.hpp"
#include "hpo/text.hpp"
#include "orchestrator/init/hydra_flags.hpp"
#include "orchestrator/init/script_flags.hpp"
#include "orchestrator/study/entries.hpp"

namespace hpo::init {

namespace {

using std::string;
using std::string_view;

std::optional<double> number_in(const string& text) {
    double number = 0;
    const auto read = from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

bool has_word(const string& name, std::initializer_list<string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](string_view word) {
        const auto at = name.find(word);
        const bool begins = at == 0 || (at != string::npos && name[at - 1] == '_');
        return begins && (at + word.size() == name.size() || name[at + word.size()] == '_');
    });
}

/// Returns 0.01 or 1.0e-4: a number for all readers of YAML.
string yaml_number(double number) {
    string text = trimmed_number(number);
    if (const auto exponent = text.find('e'); exponent != string::npos && text.find('.') == string::npos)
        text.insert(exponent, ".0");
    return text;
}

string range(const char* type, double low, double high, bool log) {
    const auto text = [whole = string_view(type) == "int"](double bound) {
        return whole ? std::to_string(std::llround(bound)) : yaml_number(bound);
    };
    return "{type: " + string(type) + ", low: " + text(low) + ", high: " + text(high) + (log ? ", log: true}" : "}");
}

bool is_batch_size(const string& name) { return name == "bs" || has_word(name, {"batch_size", "batch"}); }

/// Returns the range that the flag is searched in; empty if its name, type and default do not tell.
string range_of(const Flag& flag) {
    const string name = flag.word();
    const auto range = [&flag](const char* type, double low, double high, bool log) {
        const double least = flag.least.value_or(low), most = flag.most.value_or(high);
        const bool within = std::max(low, least) < std::min(high, most);
        return within ? hpo::init::range(type, std::max(low, least), std::min(high, most), log) : string();
    };
    const auto whole_range = [&range](double low, double high) { return range("int", low, high, true); };
    if (!flag.choices.empty()) {
        string list;
        for (const string& choice : flag.choices) {
            const bool plain = number_in(choice) && flag.type != "str" && !flag.type.empty();
            list += (list.empty() ? "" : ", ") + (plain ? choice : study::yaml_text(choice));
        }
        return flag.choices.size() < 2 ? "" : "{type: categorical, choices: [" + list + "]}";
    }
    const auto given = number_in(flag.fallback);
    const bool whole = flag.type == "int" || (flag.type.empty() && flag.fallback.find_first_of(".eE") == string::npos);
    if (!given && flag.type != "int" && flag.type != "float") return {};
    const bool real = flag.type != "int";  // lr_decay_steps is no learning rate
    if (is_batch_size(name)) return whole_range(std::max(8.0, given.value_or(64) / 2), given.value_or(64) * 4);
    if (real && has_word(name, {"dropout", "drop_rate", "smoothing", "drop"})) return range("float", 0, 0.5, false);
    if (real && has_word(name, {"momentum"})) return range("float", 0.8, 0.99, false);
    if (real && has_word(name, {"lr", "learning_rate"}))
        return range("float", given.value_or(1e-3) / 10, given.value_or(1e-3) * 10, true);
    if (real && has_word(name, {"weight_decay", "wd", "l2", "decay"})) {
        const double middle = given && *given > 0 ? *given : 1e-3;
        return range("float", middle / 30, middle * 30, true);
    }
    if (has_word(name, {"layers", "depth", "blocks"}))
        return range("int", 1, std::max(3.0, 2 * given.value_or(2)), false);
    if (has_word(name, {"hidden", "width", "units", "dim", "size", "features", "channels", "estimators", "heads"}) &&
        whole && given && *given >= 4)
        return whole_range(*given / 4, *given * 4);
    if (!whole && given && *given > 0 && *given < 1)
        return range("float", *given / 10, std::min(*given * 10, 1.0), true);
    return {};
}

}  // namespace

Result<FirstStudy> study_for_script(const string& path, string_view python, const ReadConfiguration& read) {
    FirstStudy first;
    const auto hydra = hydra_main(python);
    std::vector<Flag> flags = script_flags(python);
    if (hydra) {
        auto overrides = hydra_flags(*hydra, read);
        if (!overrides) return overrides.error();
        flags = std::move(*overrides);
    }
    string space, fixed, command = "python3, " + study::yaml_text(path);
    bool small_batches = false, epochs_known = false;
    double epochs = 20;
    for (const Flag& flag : flags) {
        const string name = flag.name(), word = flag.word(),
                     shown = flag.option + (flag.fallback.empty() ? "" : " (" + flag.fallback + ")");
        const auto argument = [&](const string& value) {
            const string between = flag.assigned || flag.option.starts_with("--") ? "=" : "\", \"";
            command += ", \"" + (flag.positional() ? "" : flag.option + between) + value + "\"";
        };
        if (flag.takes_value && has_word(word, {"epochs", "steps", "epoch"}) && !epochs_known) {
            epochs_known = true;
            epochs = std::max(1.0, number_in(flag.fallback).value_or(20));
            argument("{steps}");
            continue;
        }
        if (flag.takes_value && word == "seed") {
            argument("{seed}");
            continue;
        }
        const string searched = flag.takes_value ? range_of(flag) : "";
        if (searched.empty() && flag.required) {
            string value = word;
            std::transform(value.begin(), value.end(), value.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
            argument(value);
            first.warnings.push_back("the script does not start without " + flag.option + ": write its value for " +
                                     value + " in worker.command");
            continue;
        }
        if (searched.empty()) {
            fixed += (fixed.empty() ? "" : ", ") + shown;
            continue;
        }
        if (is_batch_size(word)) small_batches |= number_in(flag.fallback).value_or(64) / 2 < largest_auto_batch;
        space += "  " + name + ": " + searched + (flag.fallback.empty() ? "" : "   # default " + flag.fallback) + '\n';
        argument('{' + name + '}');
    }
    if (hydra) command += ", \"hydra.run.dir={folder}/hydra\"";
    if (space.empty())
        return Error{path +
                     ": no flag that could be varied was found (add_argument of argparse, option of Click, or numbers "
                     "in the configuration of Hydra); docs/scripts.md shows how a study names parameters itself"};
    string metric = likely_metric(python);
    first.found.push_back(
        path + (hydra ? ": a script with a configuration of Hydra, " + hydra->file() : ": a script with flags"));
    if (!fixed.empty()) first.found.push_back("as it is   " + fixed);
    if (metric.empty()) {
        metric = "val_loss";
        first.warnings.push_back(
            "no usual name of a metric occurs in the script: write the one that it prints or reports as "
            "objective.metric");
    }
    std::vector<string> comment = first.found;
    comment.front() = "Written by hpo init. " + comment.front();
    const string printed = '"' + metric + ": 0.5\"";
    switch (where_it_prints(python)) {
        case Prints::in_loop:
            comment.push_back("The script must print its metric after each epoch, such as " + printed +
                              ", or report it");
            break;
        case Prints::once:
            comment.push_back("No loop of the script prints: the metric that it prints once, such as " + printed +
                              ", is a trial's value");
            break;
        case Prints::nowhere:
            comment.push_back("The script must print its metric, such as " + printed + ", or report it");
            break;
    }
    comment.push_back(
        "(docs/scripts.md). Check ranges, metric and direction: they were guessed from names and defaults.");
    for (const string& warning : first.warnings) comment.push_back("warning: " + warning);
    first.text =
        comments(comment) + "study: " + study_name(path) + "\n\nobjective: {metric: " + study::yaml_text(metric) +
        ", direction: " + (is_minimized(metric) ? "minimize" : "maximize") + "}\n\nspace:\n" + space +
        "\nworker:\n  command: [" + command + "]\n  metrics: {}   # read from its output\n\nbudget: {trials: 30" +
        (epochs_known ? ", epochs: " + std::to_string(std::llround(epochs)) : "") + "}\n" +
        (small_batches ? "policy: {min_batch_size: 1}   # a script's small batches are refused otherwise\n" : "");
    return first;
}

}  // namespace hpo::init
