#include "orchestrator/import/hydra_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "hpo/from_chars.hpp"
#include "orchestrator/study/diagnostics.hpp"

namespace hpo::importing {

namespace {

using std::string;
using std::string_view;
using study::printable;

constexpr int most_nested = 8;
constexpr std::size_t most_values = 1000;

string_view trimmed(string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Splits at commas that are within no quotes and brackets.
std::vector<string_view> split_elements(string_view text) {
    std::vector<string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    char quote = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '\\') {
            ++at;
        } else if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '{') {
            ++depth;
        } else if (c == ')' || c == ']' || c == '}') {
            --depth;
        } else if (c == ',' && depth == 0) {
            parts.push_back(trimmed(text.substr(begin, at - begin)));
            begin = at + 1;
        }
    }
    parts.push_back(trimmed(text.substr(begin)));
    return parts;
}

struct Call {
    string_view function;
    std::vector<string_view> arguments;
};

/// Returns the parts of name(a, b), or nothing if the text is no call.
std::optional<Call> call_of(string_view text) {
    const auto open = text.find('(');
    if (open == 0 || open == string_view::npos || !text.ends_with(')')) return {};
    const string_view name = text.substr(0, open);
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != string_view::npos) return {};
    return Call{name, split_elements(text.substr(open + 1, text.size() - open - 2))};
}

std::optional<double> number_in(string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0;
    const auto [end, status] = from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return {};
    return number;
}

bool is_whole_number(string_view text) { return text.find_first_not_of("+-0123456789") == string_view::npos; }

string lower_text(string_view text) {
    string lower(text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return lower;
}

/// Returns an argument's value: that of `name=`, or the one at a position among those without names.
std::optional<string_view> argument_of(const Call& call, string_view name, std::size_t position) {
    std::size_t at = 0;
    for (const string_view argument : call.arguments) {
        const auto equals = argument.find('=');
        const bool is_named = equals != string_view::npos && argument.find_first_of("'\"[({") > equals;
        if (is_named && trimmed(argument.substr(0, equals)) == name) return trimmed(argument.substr(equals + 1));
        if (!is_named && at++ == position) return argument;
    }
    return {};
}

HydraSweep wrong(const string& problem) {
    HydraSweep sweep;
    sweep.problem = problem;
    return sweep;
}

HydraSweep numbers(const Call& call) {
    const bool is_range = call.function == "range";
    auto first = argument_of(call, is_range ? "start" : "start", 0),
         second = argument_of(call, is_range ? "stop" : "end", 1);
    if (is_range && first && !second) second = first, first = "0";  // range(5)
    const auto third = is_range ? argument_of(call, "step", 2) : std::nullopt;
    const auto low = number_in(first.value_or("")), high = number_in(second.value_or(""));
    const auto step = third ? number_in(*third) : 1.0;
    if (!low || !high || !step || !(*step > 0))
        return wrong(is_range ? "range needs two numbers and a step above 0, as in range(1, 9, step=2)"
                              : "interval needs two numbers, as in interval(0.1, 0.9)");
    HydraSweep sweep;
    sweep.kind = is_range ? HydraSweep::Kind::range : HydraSweep::Kind::interval;
    sweep.low = *low;
    sweep.high = *high;
    sweep.step = *step;
    sweep.whole =
        is_range && is_whole_number(*first) && is_whole_number(*second) && (!third || is_whole_number(*third));
    return sweep;
}

HydraSweep parsed_sweep(string_view text, int depth);

HydraSweep choices_of(const std::vector<string_view>& elements) {
    HydraSweep sweep;
    sweep.kind = HydraSweep::Kind::choice;
    for (const string_view element : elements) {
        if (element.empty()) return wrong("an element is empty");
        const bool quoted =
            element.size() > 1 && (element[0] == '\'' || element[0] == '"') && element.ends_with(element[0]);
        sweep.choices.push_back(hydra_element(quoted ? element.substr(1, element.size() - 2) : element, quoted));
    }
    return sweep;
}

/// Applies int(...), float(...) and so on.
HydraSweep cast(HydraSweep sweep, string_view type) {
    if (type == "int") sweep.whole = true;
    if (type == "float") sweep.whole = false;
    for (Value& choice : sweep.choices) {
        const double number = number_or(choice, std::nan(""));
        if (type == "int" && std::isfinite(number)) choice = static_cast<std::int64_t>(number);
        if (type == "float" && std::isfinite(number)) choice = number;
        if (type == "bool" && std::isfinite(number)) choice = number != 0;
        if (type == "str" && !std::holds_alternative<string>(choice)) choice = "'" + to_text(choice) + "'";
    }
    return sweep;
}

/// Converts a shuffled range to a choice among its values without its end, as Hydra does for Optuna.
HydraSweep shuffled(HydraSweep sweep) {
    if (sweep.kind != HydraSweep::Kind::range) return sweep;
    if (!(sweep.high - sweep.low < static_cast<double>(most_values) * sweep.step))
        return wrong("the range has more than " + std::to_string(most_values) + " values");
    for (double value = sweep.low; value < sweep.high - 1e-12;
         value = sweep.low + sweep.step * static_cast<double>(sweep.choices.size()))
        sweep.choices.push_back(sweep.whole ? Value(static_cast<std::int64_t>(value)) : Value(value));
    sweep.kind = HydraSweep::Kind::choice;
    return sweep;
}

HydraSweep parsed_sweep(string_view text, int depth) {
    text = trimmed(text);
    if (depth > most_nested) return wrong("nested more than " + std::to_string(most_nested) + " deep");
    const auto elements = split_elements(text);
    if (elements.size() > most_values) return wrong("more than " + std::to_string(most_values) + " values");
    if (elements.size() > 1) return choices_of(elements);
    const auto call = call_of(text);
    if (!call) {
        HydraSweep sweep = choices_of(elements);
        sweep.kind = HydraSweep::Kind::value;
        return sweep;
    }
    const string_view name = call->function;
    if (name == "choice") return choices_of(call->arguments);
    if (name == "range" || name == "interval") return numbers(*call);
    if (name == "tag") {
        HydraSweep sweep =
            parsed_sweep(argument_of(*call, "sweep", call->arguments.size() - 1).value_or(""), depth + 1);
        for (std::size_t i = 0; i + 1 < call->arguments.size(); ++i)
            if (call->arguments[i] == "log" || call->arguments[i].ends_with("[log]")) sweep.log = true;
        return sweep;
    }
    const bool orders = name == "shuffle" || name == "sort";
    if (orders || name == "int" || name == "float" || name == "str" || name == "bool") {
        std::vector<string_view> inner;  // without reverse=true
        for (const string_view argument : call->arguments)
            if (argument.find('=') == string_view::npos || argument.find_first_of("'\"[({") < argument.find('='))
                inner.push_back(argument);
        if (inner.empty()) return wrong(string(name) + "() has no argument");
        HydraSweep sweep = inner.size() > 1 ? choices_of(inner) : parsed_sweep(inner[0], depth + 1);
        if (!sweep.problem.empty()) return sweep;
        return name == "shuffle" ? shuffled(std::move(sweep)) : orders ? sweep : cast(std::move(sweep), name);
    }
    return wrong("the function '" + printable(name) +
                 "' is not known; known: choice, range, interval, tag, int, float, str, bool, shuffle, sort");
}

}  // namespace

Value hydra_element(string_view text, bool quoted) {
    const string lower = lower_text(text);
    if (!quoted) {
        if (lower == "true" || lower == "false") return lower == "true";
        if (const auto number = number_in(text)) {
            if (is_whole_number(text) && std::abs(*number) < 9e15) return static_cast<std::int64_t>(*number);
            if (!is_whole_number(text)) return *number;
        }
        return string(text);  // as written: a word, null, a list, a map, an interpolation
    }
    const bool looks_other =
        number_in(text) || lower == "true" || lower == "false" || lower == "null" || lower == "nan" || lower == "inf";
    const bool is_word = !text.empty() && text.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_-/.:%+@?|") == string_view::npos;
    if (is_word && !looks_other) return string(text);
    string out = "'";
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\'' && (i == 0 || text[i - 1] != '\\')) out += '\\';
        out += text[i];
    }
    return out + "'";
}

HydraSweep parse_hydra_sweep(string_view text) { return parsed_sweep(text, 0); }

}  // namespace hpo::importing
