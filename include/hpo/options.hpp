// Option tables: what the options of a part (a sampler, a stopping rule) are called, hold and default to. The part owns
// its table; the study file is checked against it, and help and errors are made from it.
#pragma once

#include <charconv>
#include <span>
#include <string_view>

#include "hpo/value.hpp"

namespace hpo {

enum class OptionType { integer, real, text, list, flag };

struct Option {
    std::string_view name;
    OptionType type;
    double low = 0;                  ///< numeric: least value allowed
    double high = 0;                 ///< numeric: greatest value allowed
    std::string_view choices = {};   ///< text: allowed values, separated by '|'; empty: any
    std::string_view fallback = {};  ///< default as written in YAML; empty: none, see `meaning`
    std::string_view meaning = {};   ///< one line for --help and errors
};

/// One row of a registry: what a study file may write as `sampler: {type: ...}` or `stopping: [{rule: ...}]`.
struct PartOptions {
    std::string_view name;
    std::string_view meaning;
    std::span<const Option> options;
};

/// The parts a study file may name. An empty table: names and options of that kind are not checked.
struct Vocabulary {
    std::span<const PartOptions> samplers;
    std::span<const PartOptions> rules;
};

constexpr const Option* find_option(std::span<const Option> table, std::string_view name) {
    for (const Option& option : table)
        if (option.name == name) return &option;
    return nullptr;
}

/// A numeric option: what was given, else the table's fallback, else `otherwise`. Checked values are in range already.
inline double number_option(const Params& given, std::span<const Option> table, std::string_view name,
                            double otherwise = 0) {
    if (const auto found = given.find(std::string(name)); found != given.end())
        return number_or(found->second, otherwise);
    if (const Option* option = find_option(table, name); option && !option->fallback.empty())
        std::from_chars(option->fallback.data(), option->fallback.data() + option->fallback.size(), otherwise);
    return otherwise;
}

}  // namespace hpo
