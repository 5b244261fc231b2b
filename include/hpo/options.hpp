// Tables of the options of a part (a sampler or a stopping rule) with their types, ranges and defaults. The part owns
// its table. Study files are checked against it, and help and error messages are generated from it.
#pragma once

#include <span>
#include <string_view>

#include "hpo/from_chars.hpp"
#include "hpo/value.hpp"

namespace hpo {

enum class OptionType { integer, real, text, list, flag };

struct Option {
    std::string_view name;
    OptionType type;
    double low = 0;                  ///< minimum of a number
    double high = 0;                 ///< maximum of a number
    std::string_view choices = {};   ///< allowed texts, separated by '|'; empty for any
    std::string_view fallback = {};  ///< default as written in YAML; empty if there is none, see `meaning`
    std::string_view meaning = {};   ///< one line for --help and errors
};

/// A part that a study file may name in `sampler: {type: ...}` or `stopping: [{rule: ...}]`.
struct PartOptions {
    std::string_view name;
    std::string_view meaning;
    std::span<const Option> options;
    bool plans_steps = false;  ///< true for a stopping rule that depends on the number of steps of a whole trial
};

/// All parts that a study file may name. If a table is empty, names and options of that kind are not checked.
struct Vocabulary {
    std::span<const PartOptions> samplers;
    std::span<const PartOptions> rules;
};

constexpr const Option* find_option(std::span<const Option> table, std::string_view name) {
    for (const Option& option : table)
        if (option.name == name) return &option;
    return nullptr;
}

/// Returns the value of a numeric option: the given one, else the table's default, else `otherwise`. Does not check the
/// range, which was checked when the study was read.
inline double number_option(const Params& given, std::span<const Option> table, std::string_view name,
                            double otherwise = 0) {
    if (const auto found = given.find(std::string(name)); found != given.end())
        return number_or(found->second, otherwise);
    if (const Option* option = find_option(table, name); option && !option->fallback.empty())
        from_chars(option->fallback.data(), option->fallback.data() + option->fallback.size(), otherwise);
    return otherwise;
}

}  // namespace hpo
