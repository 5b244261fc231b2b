#include "orchestrator/init/script_flags.hpp"

#include <algorithm>
#include <array>

namespace hpo::init {

namespace {

using std::string;
using std::string_view;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

string_view trimmed(string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Returns the position behind a string literal that begins at `at`.
std::size_t behind_string(string_view text, std::size_t at) {
    const char quote = text[at];
    for (++at; at < text.size() && text[at] != quote; ++at)
        if (text[at] == '\\') ++at;
    return std::min(at + 1, text.size());
}

/// Splits at the commas outside of strings and brackets, up to the bracket that closes. Comments are left out.
std::vector<string> arguments_from(string_view text) {
    std::vector<string> parts(1);
    for (std::size_t at = 0, depth = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"' || c == '\'') {
            const std::size_t end = behind_string(text, at);
            parts.back() += text.substr(at, end - at);
            at = end - 1;
            continue;
        }
        if (c == '#') {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        if (c == ')' || c == ']' || c == '}') {
            if (depth == 0) break;
            --depth;
        }
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ',' && depth == 0)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    for (string& part : parts) part = trimmed(part);
    std::erase(parts, "");
    return parts;
}

/// Returns the text of a string literal, and any other text as it is.
string unquoted(const string& text) {
    const bool quoted =
        text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
    return quoted ? text.substr(1, text.size() - 2) : text;
}

std::vector<string> items_of(const string& list) {
    if (list.empty() || (list.front() != '[' && list.front() != '(')) return {};
    std::vector<string> items = arguments_from(string_view(list).substr(1));
    for (string& item : items) item = unquoted(item);
    return items;
}

Flag flag_of(const std::vector<string>& arguments) {
    Flag flag;
    bool may_be_absent = false;
    for (const string& argument : arguments) {
        const auto equals = argument.find('=');
        const bool named = equals != string::npos && equals > 0 &&
                           std::all_of(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(equals),
                                       [](char c) { return is_letter(c) || c == ' '; });
        if (!named) {
            const string option = unquoted(argument);
            if (option.starts_with("--") || (flag.option.empty() && option != argument)) flag.option = option;
            continue;
        }
        const string key(trimmed(string_view(argument).substr(0, equals)));
        const string value(trimmed(string_view(argument).substr(equals + 1)));
        if (key == "type") flag.type = value;
        if (key == "default") flag.fallback = unquoted(value);
        if (key == "choices") flag.choices = items_of(value);
        if (key == "action") flag.takes_value = unquoted(value) == "store";
        if (key == "nargs") flag.takes_value = false;  // a list
        if (key == "nargs") may_be_absent = unquoted(value) == "?" || unquoted(value) == "*";
        if (key == "required") flag.required = value == "True";
    }
    if (flag.positional()) flag.required = !may_be_absent;
    return flag;
}

}  // namespace

string Flag::name() const {
    string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

std::vector<Flag> script_flags(string_view python) {
    constexpr string_view call = "add_argument(";
    std::vector<Flag> flags;
    for (std::size_t at = 0; (at = python.find(call, at)) != string_view::npos; at += call.size()) {
        const string_view line = python.substr(python.rfind('\n', at) + 1, at - python.rfind('\n', at) - 1);
        if (trimmed(line).starts_with('#')) continue;
        Flag flag = flag_of(arguments_from(python.substr(at + call.size())));
        if (!flag.option.empty()) flags.push_back(std::move(flag));
    }
    return flags;
}

string likely_metric(string_view python) {
    constexpr std::array names{
        "val_accuracy", "val_acc",    "valid_acc", "test_accuracy", "test_acc", "val_f1",    "val_auc",
        "val_loss",     "valid_loss", "val_mse",   "val_rmse",      "val_mae",  "eval_loss", "eval_accuracy",
        "test_loss",    "accuracy",   "acc",       "auc",           "f1",       "r2",        "perplexity",
        "rmse",         "mse",        "mae",       "score",         "error",    "loss"};
    for (const string_view name : names)
        for (std::size_t at = 0; (at = python.find(name, at)) != string_view::npos; at += name.size()) {
            const bool begins = at == 0 || !is_letter(python[at - 1]);
            const bool ends = at + name.size() == python.size() || !is_letter(python[at + name.size()]);
            if (begins && ends) return string(name);
        }
    return {};
}

bool is_minimized(string_view metric) {
    constexpr std::array parts{"loss", "mse", "mae", "error", "perplexity"};
    return std::any_of(parts.begin(), parts.end(),
                       [&](string_view part) { return metric.find(part) != string_view::npos; });
}

}  // namespace hpo::init
