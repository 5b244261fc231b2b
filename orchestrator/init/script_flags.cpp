#include "orchestrator/init/script_flags.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "hpo/from_chars.hpp"

namespace hpo::init {

namespace {

using std::string;
using std::string_view;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

/// Returns the items of a list: of ["a", "b"], and of the list in click.Choice(["a", "b"]).
std::vector<string> items_of(string_view list) {
    if (const auto call = list.find("Choice("); call != string_view::npos) list = trimmed(list.substr(call + 7));
    if (list.empty() || (list.front() != '[' && list.front() != '(')) return {};
    std::vector<string> items = arguments_from(list.substr(1));
    for (string& item : items) item = unquoted(item);
    return items;
}

std::optional<double> number_of(string_view text) {
    double number = 0;
    const auto read = from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc{} && read.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Reads a type of Click: click.INT, click.Choice(["a", "b"]), click.FloatRange(0, 0.5).
void read_click_type(const string& value, Flag& flag) {
    const auto is = [&](string_view type) { return value.find(type) != string::npos; };
    if (is("Choice(")) flag.choices = items_of(value), flag.type.clear();
    if (is("IntRange(") || is("click.INT")) flag.type = "int";
    if (is("FloatRange(") || is("click.FLOAT")) flag.type = "float";
    const auto range = value.find("Range(");
    if (range == string::npos) return;
    std::size_t place = 0;
    for (const string& bound : arguments_from(string_view(value).substr(range + 6))) {
        const auto equals = bound.find('=');
        const string_view key = equals == string::npos ? (place == 0   ? "min"
                                                          : place == 1 ? "max"
                                                                       : "")
                                                       : trimmed(string_view(bound).substr(0, equals));
        const auto number = number_of(trimmed(string_view(bound).substr(equals == string::npos ? 0 : equals + 1)));
        if (key == "min") flag.least = number;
        if (key == "max") flag.most = number;
        ++place;
    }
}

/// `click_option`: a text without dashes names the option within the script.
Flag flag_of(const std::vector<string>& arguments, bool click_option) {
    Flag flag;
    bool may_be_absent = false;
    for (const string& argument : arguments) {
        const auto equals = argument.find('=');
        const bool named = equals != string::npos && equals > 0 &&
                           std::all_of(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(equals),
                                       [](char c) { return is_letter(c) || c == ' '; });
        if (!named) {
            const string option = unquoted(argument);
            if (option == argument) continue;
            if (click_option && !option.starts_with('-')) {
                flag.called = option;
                continue;
            }
            if (option.find('/') != string::npos && click_option) flag.takes_value = false;  // "--bias/--no-bias"
            if (option.starts_with("--") || flag.option.empty()) flag.option = option;
            continue;
        }
        const string key(trimmed(string_view(argument).substr(0, equals)));
        const string value(trimmed(string_view(argument).substr(equals + 1)));
        if (key == "type") flag.type = value, read_click_type(value, flag);
        if (key == "default") flag.fallback = unquoted(value);
        if (key == "choices") flag.choices = items_of(value);
        if (key == "action") flag.takes_value = unquoted(value) == "store";
        if ((key == "is_flag" || key == "count" || key == "multiple") && value == "True") flag.takes_value = false;
        if (key == "nargs") flag.takes_value = false;  // a list
        if (key == "nargs") may_be_absent = unquoted(value) == "?" || unquoted(value) == "*" || value == "-1";
        if (key == "required") flag.required = value == "True", may_be_absent |= value == "False";
    }
    if (flag.positional()) flag.required = !may_be_absent;
    return flag;
}

/// Returns the texts of a script in small letters, without comments, documentation, and what is in the braces of
/// formats.
std::vector<string> texts_of(string_view python) {
    std::vector<string> texts;
    for (std::size_t at = 0; at < python.size(); ++at) {
        const char c = python[at];
        if (c == '#') at = std::min(python.find('\n', at), python.size());
        if (c != '"' && c != '\'') continue;
        const string_view three = c == '"' ? "\"\"\"" : "'''";
        if (python.substr(at).starts_with(three)) {
            const auto end = python.find(three, at + 3);
            at = end == string_view::npos ? python.size() : end + 2;
            continue;
        }
        const std::size_t end = behind_string(python, at);
        string text;
        int depth = 0;
        for (const char one : python.substr(at + 1, end - at - 2)) {
            if (one == '}') depth = std::max(0, depth - 1);
            if (depth == 0) text += static_cast<char>(one >= 'A' && one <= 'Z' ? one + 32 : one);
            if (one == '{') ++depth;
        }
        texts.push_back(std::move(text));
        at = end - 1;
    }
    return texts;
}

/// Returns true if the text prints a number of this name, as "epoch {} | val acc: {}" does of val_acc. A word before
/// the name makes it another one: "train loss {}", "best val_acc: {}".
bool labels(string_view text, string_view name) {
    const auto same = [](char c, char of_name) {
        return c == of_name || (of_name == '_' && (c == ' ' || c == '-' || c == '/'));
    };
    const auto found = [&](std::size_t from) {
        return std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), name.begin(), name.end(),
                           same);
    };
    for (auto at = found(0); at != text.end(); at = found(static_cast<std::size_t>(at - text.begin()) + 1)) {
        const auto begin = static_cast<std::size_t>(at - text.begin());
        const string_view behind = text.substr(begin + name.size()), before = trimmed(text.substr(0, begin));
        const bool apart = begin == 0 || text[begin - 1] == ' ' || text[begin - 1] == '\t';
        const char last = before.empty() ? '|' : before.back();
        const bool begins =
            apart ? !is_letter(last) || is_digit(last) : string_view("|,;:([").find(last) != string_view::npos;
        const string_view rest = trimmed(behind);
        const bool ends = rest.empty() || string_view("{%:=").find(rest.front()) != string_view::npos;
        if (begins && ends && (behind.empty() || !is_letter(behind.front()))) return true;
    }
    return false;
}

/// A line of Python inside the blocks that `loops` and `function` name.
struct Line {
    string_view text;
    bool in_loop = false;
    string_view function;  ///< the innermost one that it belongs to; empty: none
};

/// Returns the lines of a script that hold code, with the loops and functions around them, by their indentation.
std::vector<Line> lines_of(string_view python) {
    struct Block {
        std::size_t indentation;
        string_view function;  ///< empty: a loop
    };
    std::vector<Block> blocks;
    std::vector<Line> lines;
    for (std::size_t at = 0; at < python.size();) {
        const auto end = std::min(python.find('\n', at), python.size());
        const string_view line = python.substr(at, end - at), text = trimmed(line);
        at = end + 1;
        if (text.empty() || text.front() == '#') continue;
        const std::size_t indentation = line.find(text.front());
        while (!blocks.empty() && blocks.back().indentation >= indentation) blocks.pop_back();
        if (text.starts_with("for ") || text.starts_with("while ")) blocks.push_back({indentation, {}});
        if (text.starts_with("def ")) blocks.push_back({indentation, trimmed(text.substr(4, text.find('(') - 4))});
        Line found{text, false, {}};
        for (const Block& block : blocks) {
            found.in_loop = block.function.empty();  // a loop around a function's definition does not run its lines
            if (!block.function.empty()) found.function = block.function;
        }
        lines.push_back(found);
    }
    return lines;
}

/// Returns true if the text calls a function of this name: "log(" calls log, also as "wandb.log(", and not "math.exp(".
bool calls(string_view text, string_view name) {
    for (auto at = text.find(name); at != string_view::npos; at = text.find(name, at + 1))
        if ((at == 0 || !is_letter(text[at - 1])) && text.substr(at + name.size()).starts_with('(')) return true;
    return false;
}

}  // namespace

string Flag::name() const {
    string name = !called.empty() ? called : option.substr(std::min(option.find_first_not_of('-'), option.size()));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

string Flag::word() const {
    const string whole = name();
    return whole.substr(whole.rfind('.') + 1);
}

std::vector<Flag> script_flags(string_view python) {
    constexpr std::array<string_view, 5> calls{"add_argument(", "click.option(", "@option(", "click.argument(",
                                               "@argument("};
    std::map<std::size_t, string_view> found;  // in the order of the script
    for (const string_view call : calls)
        for (std::size_t at = 0; (at = python.find(call, at)) != string_view::npos; at += call.size())
            found.emplace(at, call);
    std::vector<Flag> flags;
    for (const auto& [at, call] : found) {
        const string_view line = python.substr(python.rfind('\n', at) + 1, at - python.rfind('\n', at) - 1);
        if (trimmed(line).starts_with('#')) continue;
        Flag flag = flag_of(arguments_from(python.substr(at + call.size())), call.find("option") != string_view::npos);
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
    const std::vector<string> texts = texts_of(python);
    for (const string_view name : names)
        if (std::any_of(texts.begin(), texts.end(), [&](const string& text) { return labels(text, name); }))
            return string(name);
    for (const string_view name : names)
        for (std::size_t at = 0; (at = python.find(name, at)) != string_view::npos; at += name.size()) {
            const bool begins = at == 0 || !is_letter(python[at - 1]);
            const bool ends = at + name.size() == python.size() || !is_letter(python[at + name.size()]);
            if (begins && ends) return string(name);
        }
    return {};
}

Prints where_it_prints(string_view python) {
    if (python.find("epoch") != string_view::npos) return Prints::in_loop;
    constexpr std::array<string_view, 6> printing{"print", "log", "info", "echo", "write", "report"};
    const std::vector<Line> lines = lines_of(python);
    std::set<string_view> functions;  // that print
    Prints where = Prints::nowhere;
    for (const Line& line : lines)
        if (std::any_of(printing.begin(), printing.end(), [&](string_view name) { return calls(line.text, name); })) {
            if (line.in_loop) return Prints::in_loop;
            where = Prints::once;
            if (!line.function.empty()) functions.insert(line.function);
        }
    for (std::size_t known = 0; known < functions.size();) {
        known = functions.size();
        for (const Line& line : lines) {
            const bool prints = std::any_of(functions.begin(), functions.end(),
                                            [&](string_view function) { return calls(line.text, function); });
            if (prints && line.in_loop) return Prints::in_loop;
            if (prints && !line.function.empty()) functions.insert(line.function);
        }
    }
    return where;
}

bool is_minimized(string_view metric) {
    constexpr std::array parts{"loss", "mse", "mae", "error", "perplexity"};
    return std::any_of(parts.begin(), parts.end(),
                       [&](string_view part) { return metric.find(part) != string_view::npos; });
}

}  // namespace hpo::init
