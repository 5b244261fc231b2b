#include "orchestrator/study/fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hpo/from_chars.hpp"
#include "hpo/nearest.hpp"
#include "hpo/text.hpp"
#include "hpo/wire.hpp"
#include "hpo/worker_keys.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

constexpr std::size_t max_items = 64;
constexpr std::size_t max_list_bytes = 4096;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// Removes the leading digits from `text` and returns them.
string_view take_digits(string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const string_view found = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(found.size());
    return found;
}

enum class Looks { text, whole, real, non_finite, flag };

template <std::size_t N>
bool is_one_of(string_view text, const string_view (&words)[N]) {
    return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

constexpr string_view truths[] = {"true", "True", "TRUE"};
constexpr string_view falsehoods[] = {"false", "False", "FALSE"};

/// Returns the base of a whole number that is written as 0o17 or 0x1F, or 0 for any other text.
int base_of(string_view text) {
    const int base = text.starts_with("0o") ? 8 : text.starts_with("0x") ? 16 : 0;
    const string_view digits = base == 8 ? "01234567" : "0123456789abcdefABCDEF";
    return text.size() > 2 && text.find_first_not_of(digits, 2) == string_view::npos ? base : 0;
}

/// Returns the type as which YAML's core schema (of version 1.2) reads an unquoted text.
Looks looks(string_view text) {
    if (is_one_of(text, truths) || is_one_of(text, falsehoods)) return Looks::flag;
    if (base_of(text) != 0) return Looks::whole;
    if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return Looks::non_finite;
    string_view rest = text;
    if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
    if (is_one_of(rest, {".inf", ".Inf", ".INF"})) return Looks::non_finite;
    const bool before = !take_digits(rest).empty();
    if (before && rest.empty()) return Looks::whole;
    bool after = false;
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        after = !take_digits(rest).empty();
    }
    if (!before && !after) return Looks::text;
    if (rest.starts_with('e') || rest.starts_with('E')) {
        rest.remove_prefix(1);
        if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
        if (take_digits(rest).empty()) return Looks::text;
    }
    return rest.empty() ? Looks::real : Looks::text;
}

/// Converts a text that looks like a number. Returns an infinity if its magnitude is too large for a double, and 0 if
/// it is too small.
double number_of(string_view text) {
    if (const int base = base_of(text); base != 0) {
        double number = 0;
        for (const char digit : text.substr(2))
            number = number * base + (is_digit(digit) ? digit - '0' : (digit | 0x20) - 'a' + 10);
        return number;
    }
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0;
    const auto [end, status] = from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc::result_out_of_range) return number;
    const auto exponent = text.find_first_of("eE");
    const bool tiny = exponent != string_view::npos && exponent + 1 < text.size() && text[exponent + 1] == '-';
    if (tiny) return 0;
    return text.starts_with('-') ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

/// Converts a text that looks like a number, also one such as 1e3, to an integer. Returns nothing if the value is no
/// integer or its magnitude exceeds 2^53. Digits are not converted through a double, which would round 2^53 + 1.
std::optional<std::int64_t> exact_whole(string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    if (looks(text) == Looks::whole && base_of(text) == 0) {
        std::int64_t number = 0;
        const auto status = from_chars(text.data(), text.data() + text.size(), number).ec;
        const auto limit = static_cast<std::int64_t>(max_whole);
        if (status != std::errc{} || number > limit || number < -limit) return {};
        return number;
    }
    const double number = number_of(text);
    if (!(std::abs(number) <= max_whole) || number != std::floor(number)) return {};
    return static_cast<std::int64_t>(number);
}

/// Describes the node for the end of a message: "found a list".
string found(const Node& node) {
    switch (node.kind) {
        case Node::Kind::null:
            return "nothing";
        case Node::Kind::list:
            return "a list";
        case Node::Kind::map:
            return "a map";
        case Node::Kind::scalar:
            break;
    }
    if (node.plain) return printable(node.text);
    return "the text \"" + printable(node.text) + "\"" +
           (looks(node.text) == Looks::text ? "" : " (remove the quotes)");
}

std::nullopt_t expected(Diagnostics& diagnostics, const Node& node, string_view name, string_view expectation) {
    diagnostics.error(node.location,
                      "'" + string(name) + "' must be " + string(expectation) + ", found " + found(node));
    return std::nullopt;
}

bool is_plain(const Node& node) { return node.kind == Node::Kind::scalar && node.plain; }

bool is_number(const Node& node) {
    if (!is_plain(node)) return false;
    const Looks type = looks(node.text);
    return type == Looks::whole || type == Looks::real;
}

/// Parses a sum such as 1h30m, whose units must become smaller. Returns nothing if the text has another form.
template <std::size_t N>
std::optional<double> measured(string_view text, const std::array<std::pair<string_view, double>, N>& units) {
    if (text.empty()) return {};
    double sum = 0;
    double last = std::numeric_limits<double>::infinity();
    while (!text.empty()) {
        const string_view start = text;
        if (take_digits(text).empty()) return {};
        if (text.starts_with('.')) {
            text.remove_prefix(1);
            if (take_digits(text).empty()) return {};
        }
        const double number = number_of(start.substr(0, start.size() - text.size()));
        const auto unit_end = std::find_if(text.begin(), text.end(), is_digit);
        const string_view unit = text.substr(0, static_cast<std::size_t>(unit_end - text.begin()));
        const auto row = std::find_if(units.begin(), units.end(), [&](const auto& item) { return item.first == unit; });
        if (row == units.end() || row->second >= last) return {};
        last = row->second;
        sum += number * row->second;
        text.remove_prefix(unit.size());
    }
    return sum;
}

constexpr std::array<std::pair<string_view, double>, 5> time_units{
    {{"d", 86400.0}, {"h", 3600.0}, {"m", 60.0}, {"s", 1.0}, {"ms", 0.001}}};
constexpr std::array<std::pair<string_view, double>, 7> size_units{
    {{"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1.0}}};

/// Returns "1s", "90s" or "3650d": the largest unit of which it is a whole number.
string time_text(double seconds) {
    for (const auto& [unit, size] : time_units)
        if (seconds >= size && std::fmod(seconds, size) == 0) return exact_number(seconds / size) + string(unit);
    return exact_number(seconds) + "s";
}

}  // namespace

Fields::Fields(Diagnostics& diagnostics, const Node* node, string path, string_view example)
    : diagnostics_(diagnostics), node_(node), path_(std::move(path)) {
    if (node_ == nullptr || node_->kind == Node::Kind::map) return;
    const string subject = path_.empty() ? "the file" : "'" + path_ + "'";
    diagnostics.error(node_->location, subject + " must be a map (" + string(example) + "), found " + found(*node_));
    node_ = nullptr;
}

const Node* Fields::take(string_view key) {
    known_.push_back(key);
    return node_ == nullptr ? nullptr : find(*node_, key);
}

const Node* Fields::require(string_view key, string_view expectation) {
    const Node* value = take(key);
    if (value == nullptr) missing(key, expectation);
    return value;
}

void Fields::missing(string_view key, string_view expectation, const Location* where) {
    if (node_ == nullptr || std::find(misspelt_.begin(), misspelt_.end(), key) != misspelt_.end()) return;
    diagnostics_.error(where != nullptr ? *where : node_->location,
                       "'" + path_of(key) + "' is missing: " + string(expectation));
}

bool Fields::knows(string_view key) const { return std::find(known_.begin(), known_.end(), key) != known_.end(); }

string Fields::path_of(string_view key) const { return path_.empty() ? string(key) : path_ + "." + string(key); }

void Fields::finish() {
    if (node_ == nullptr) return;
    for (const Entry& entry : node_->entries) {
        if (knows(entry.key)) continue;
        const string where = path_.empty() ? "" : " in '" + path_ + "'";
        misspelt_.push_back(meant_by(entry.key, known_));
        diagnostics_.error(entry.location, "unknown key '" + printable(entry.key) + "'" + where + cure(entry));
    }
}

/// Suggests a cure for an unknown key: usually it belongs to another section, lacks a space or a colon, or is misspelt.
string Fields::cure(const Entry& entry) const {
    const bool may_be_worker_key = path_.empty() || path_.starts_with("worker");
    if (const WorkerKey* key = find_worker_key(entry.key);
        may_be_worker_key && key != nullptr && path_ != "worker.params") {
        const string section = key->section.empty() ? "worker" : "worker." + string(key->section);
        return "; did you mean '" + section + "." + entry.key + "'?";
    }
    if (path_.empty() && (entry.key == "data" || entry.key == "model" || entry.key == "training"))
        return "; did you mean 'worker." + entry.key + "'?";
    if (const auto colon = entry.key.find(':'); colon != string::npos && knows(entry.key.substr(0, colon)))
        return "; is a space missing after '" + entry.key.substr(0, colon + 1) + "'?";
    if (const auto space = entry.key.find(' '); space != string::npos && knows(entry.key.substr(0, space)))
        return "; is a ':' missing after '" + entry.key.substr(0, space) + "'?";
    return suggestion(entry.key, known_);
}

std::optional<Value> natural_value(Diagnostics& diagnostics, const Node& node, string_view name) {
    if (node.kind == Node::Kind::null) return Value(JsonText{"null"});
    if (node.kind == Node::Kind::list) {
        if (node.items.size() > max_items) return expected(diagnostics, node, name, "a list of at most 64 items");
        wire::Json list = wire::Json::array();
        for (const Node& item : node.items) {
            const auto value = natural_value(diagnostics, item, name);
            if (!value) return {};
            list.push_back(wire::from(*value));
        }
        Value value = wire::to_value(list);
        if (to_text(value).size() > max_list_bytes)
            return expected(diagnostics, node, name, "a list of at most 4096 bytes as JSON");
        return value;
    }
    if (node.kind != Node::Kind::scalar) return expected(diagnostics, node, name, "a value, a list or null");
    if (!node.plain) return Value(node.text);
    switch (looks(node.text)) {
        case Looks::flag:
            return Value(is_one_of(node.text, truths));
        case Looks::text:
            return Value(node.text);
        case Looks::non_finite:
            return expected(diagnostics, node, name, "finite");
        case Looks::whole:
        case Looks::real:
            break;
    }
    if (looks(node.text) == Looks::whole) {
        const auto number = exact_whole(node.text);
        if (!number) return expected(diagnostics, node, name, "at most 2^53 in magnitude");
        return Value(*number);
    }
    const double number = number_of(node.text);
    if (!std::isfinite(number)) return expected(diagnostics, node, name, "finite");
    return Value(number);
}

std::optional<Value> option_value(Diagnostics& diagnostics, const Node& node, const Option& option) {
    const auto wrap = [](auto value) -> std::optional<Value> {
        if (!value) return std::nullopt;
        return Value(*value);
    };
    switch (option.type) {
        case OptionType::integer:
            return wrap(whole(diagnostics, node, option.name, option.low, option.high));
        case OptionType::real:
            return wrap(real(diagnostics, node, option.name, option.low, option.high));
        case OptionType::flag:
            return wrap(flag(diagnostics, node, option.name));
        case OptionType::text: {
            if (option.choices.empty()) return wrap(text(diagnostics, node, option.name));
            const auto choices = split_choices(option.choices);
            const auto index = word(diagnostics, node, option.name, choices);
            if (!index) return {};
            return Value(string(choices[*index]));
        }
        case OptionType::list:
            break;
    }
    if (node.kind != Node::Kind::list || node.items.size() > max_items)
        return expected(diagnostics, node, option.name, "a list such as [512, 256], of 64 numbers at most");
    std::vector<std::int64_t> list;
    for (const Node& item : node.items) {
        const auto number = whole(diagnostics, item, option.name, option.low, option.high);
        if (!number) return {};
        list.push_back(*number);
    }
    return Value(std::move(list));
}

std::optional<std::int64_t> whole(Diagnostics& diagnostics, const Node& node, string_view name, double low,
                                  double high) {
    high = std::min(high, max_whole);
    const string expectation = "a whole number " + range_text(low, high);
    if (!is_number(node)) return expected(diagnostics, node, name, expectation);
    const auto number = exact_whole(node.text);
    if (!number || static_cast<double>(*number) < low || static_cast<double>(*number) > high)
        return expected(diagnostics, node, name, expectation);
    return number;
}

std::optional<double> real(Diagnostics& diagnostics, const Node& node, string_view name, double low, double high) {
    const bool any = !std::isfinite(low) && !std::isfinite(high);
    const string kind = std::isfinite(high) ? "a number" : "a finite number";
    const string expectation = any ? kind : kind + ' ' + range_text(low, high);
    if (!is_number(node)) return expected(diagnostics, node, name, expectation);
    const double number = number_of(node.text);
    if (!std::isfinite(number) || number < low || number > high) return expected(diagnostics, node, name, expectation);
    return number;
}

std::optional<string> text(Diagnostics& diagnostics, const Node& node, string_view name) {
    if (node.kind != Node::Kind::scalar) return expected(diagnostics, node, name, "a text");
    if (!node.text.empty()) return node.text;
    diagnostics.error(node.location, "'" + string(name) + "' must not be empty");
    return {};
}

std::optional<bool> flag(Diagnostics& diagnostics, const Node& node, string_view name) {
    if (!is_plain(node) || looks(node.text) != Looks::flag) return expected(diagnostics, node, name, "true or false");
    return is_one_of(node.text, truths);
}

std::optional<std::size_t> word(Diagnostics& diagnostics, const Node& node, string_view name,
                                const std::vector<string_view>& choices) {
    if (node.kind == Node::Kind::scalar) {
        const auto at = std::find(choices.begin(), choices.end(), node.text);
        if (at != choices.end()) return static_cast<std::size_t>(at - choices.begin());
    }
    string listed;
    for (std::size_t i = 0; i < choices.size(); ++i)
        listed += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + string(choices[i]);
    string message = "'" + string(name) + "' must be " + listed + ", found " + found(node);
    if (node.kind == Node::Kind::scalar && choices.size() > 1)
        if (const auto near = nearest(node.text, choices); !near.empty())
            message += "; did you mean '" + string(near) + "'?";
    diagnostics.error(node.location, message);
    return {};
}

std::optional<double> duration_of(string_view text) { return measured(text, time_units); }

std::optional<double> duration(Diagnostics& diagnostics, const Node& node, string_view name, double low, double high) {
    const auto seconds = is_plain(node) ? duration_of(node.text) : std::nullopt;
    if (!seconds) {
        const string cure = is_number(node) ? " (which unit? " + node.text + "s, " + node.text + "m)" : "";
        diagnostics.error(node.location, "'" + string(name) + "' must be a duration such as 30m, 1h30m or 90s, found " +
                                             found(node) + cure);
        return {};
    }
    if (!(*seconds >= low && *seconds <= high))
        return expected(diagnostics, node, name, "from " + time_text(low) + " to " + time_text(high));
    return seconds;
}

std::optional<std::int64_t> size(Diagnostics& diagnostics, const Node& node, string_view name) {
    const auto bytes = is_plain(node) ? measured(node.text, size_units) : std::nullopt;
    if (!bytes || !(*bytes >= 1 && *bytes <= max_whole) || *bytes != std::floor(*bytes))
        return expected(diagnostics, node, name, "a size such as 4GiB or 512MiB");
    return static_cast<std::int64_t>(*bytes);
}

std::optional<double> fraction(Diagnostics& diagnostics, const Node& node, string_view name, double low, double high) {
    Node number = node;
    const bool percent = is_plain(node) && node.text.ends_with('%');
    if (percent) number.text.pop_back();
    const double value = is_number(number) ? number_of(number.text) / (percent ? 100 : 1) : -1;
    if (value >= low && value <= high) return value;
    return expected(diagnostics, node, name,
                    "a share from " + exact_number(low * 100) + "% to " + exact_number(high * 100) + "%, such as 10%");
}

std::vector<string_view> split_choices(string_view choices) {
    std::vector<string_view> words;
    each_choice(choices, [&](string_view choice) { words.push_back(choice); });
    return words;
}

string range_text(double low, double high) {
    if (!std::isfinite(high)) return "of at least " + exact_number(low);
    return "from " + exact_number(low) + " to " + exact_number(high);
}

bool looks_like_other(string_view text) { return looks(text) != Looks::text; }

}  // namespace hpo::study
