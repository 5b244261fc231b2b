#include "orchestrator/script/syntax/json_values.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "orchestrator/script/syntax/metric_name.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

using nlohmann::json;

constexpr int most_depth = 32;
constexpr int most_unfinished = 64;  // values within each other

/// Parses JSON in which numbers may be NaN and Infinity, as Python writes them; these become texts. Returns a discarded
/// value if the text is no JSON.
json parse_json(string_view text) {
    auto value = json::parse(text, nullptr, false);
    if (!value.is_discarded()) return value;
    string quoted(text);
    for (const string_view word : {"-Infinity", "Infinity", "NaN"})
        for (auto at = quoted.find(word); at != string::npos; at = quoted.find(word, at + word.size() + 2)) {
            if (at > 0 && (quoted[at - 1] == '-' || quoted[at - 1] == '"')) continue;
            quoted.insert(at + word.size(), 1, '"').insert(at, 1, '"');
        }
    return json::parse(quoted, nullptr, false);
}

std::optional<double> number_of(const json& value) {
    if (value.is_number()) return value.get<double>();
    if (!value.is_string()) return {};
    const string_view text = trim(value.get_ref<const string&>());
    const auto number = leading_number(text);
    return number && number->second == text.size() ? std::optional(number->first) : std::nullopt;
}

/// Returns the elements of a list, also of one that pandas writes as an object with the keys 0, 1, ...
std::vector<json> elements_of(const json& value) {
    if (value.is_array()) return value.get<std::vector<json>>();
    std::vector<json> elements;
    if (!value.is_object()) return elements;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const auto found = value.find(std::to_string(i));
        if (found == value.end()) return {};
        elements.push_back(*found);
    }
    return elements;
}

/// The content of an object by the names of metrics.
struct Content {
    Metrics numbers;
    std::map<string, std::vector<json>> lists;  ///< of anything, by their unchanged names

    void add_object(const json& object, const string& objective, const string& prefix = {}, int depth = 0) {
        for (const auto& [key, value] : object.items()) {
            const string name = prefix + key;
            if (auto elements = elements_of(value); !elements.empty())
                lists.emplace(name, std::move(elements));
            else if (value.is_object() && depth < most_depth)
                add_object(value, objective, name + '.', depth + 1);
            else if (const auto number = number_of(value))
                name == objective ? void(numbers[objective] = *number)
                                  : add(numbers, metric_of(name, objective), *number);
        }
    }
};

/// Returns a record for each element of the objective's list. Lists of another length have other steps.
std::vector<Metrics> steps_of(const Content& content, const string& objective, const std::vector<json>& values) {
    std::vector<Metrics> steps;
    for (std::size_t i = 0; i < values.size(); ++i) {
        Metrics step;
        if (const auto number = number_of(values[i])) step[objective] = *number;
        for (const auto& [name, others] : content.lists)
            if (const auto number = others.size() == values.size() ? number_of(others[i]) : std::nullopt)
                add(step, metric_of(name, objective), *number);
        steps.push_back(std::move(step));
    }
    return steps;
}

void add_records_of(const json& object, const string& objective, std::vector<Metrics>& records, string& problem,
                    int depth = 0) {
    Content content;
    content.add_object(object, objective);
    if (content.numbers.contains(objective)) return records.push_back(std::move(content.numbers));
    for (const auto& [name, values] : content.lists)
        if (metric_of(name, objective) == objective) {
            for (Metrics& step : steps_of(content, objective, values)) records.push_back(std::move(step));
            return;
        }
    // A list of objects with the objective has a record for each.
    string found_in;
    std::vector<Metrics> found;
    for (const auto& [name, values] : content.lists) {
        std::vector<Metrics> within;
        const string inner = objective.starts_with(name + '.') ? objective.substr(name.size() + 1) : objective;
        for (const json& value : values)
            if (value.is_object() && depth < most_depth) add_records_of(value, inner, within, problem, depth + 1);
        const bool has = std::any_of(within.begin(), within.end(), [&](auto& one) { return one.contains(inner); });
        if (!has) {
            if (found.empty()) found = std::move(within);
            continue;
        }
        if (!found_in.empty()) {
            problem = "its JSON has '" + inner + "' in '" + found_in + "' and in '" + name +
                      "': set objective.metric to " + found_in + '.' + inner + " or " + name + '.' + inner;
            return;
        }
        if (inner != objective)
            for (Metrics& one : within)
                if (const auto number = one.find(inner); number != one.end()) {
                    const double value = number->second;
                    one.erase(inner);
                    one.insert_or_assign(objective, value);
                }
        found_in = name;
        found = std::move(within);
    }
    for (Metrics& one : found) records.push_back(std::move(one));
    if (!content.numbers.empty()) records.push_back(std::move(content.numbers));
}

}  // namespace

void JsonValues::feed(string_view text, const Found& found) {
    for (const char c : text) take(c, found);
}

void JsonValues::finish(const Found& found) {
    for (int i = 0; i < most_unfinished && !value_.empty(); ++i) leave_first_line(found);
}

/// Skips the first line of a value without an end. That line was cut, and further values may have been taken for parts
/// of this one.
void JsonValues::leave_first_line(const Found& found) {
    const auto end = value_.find('\n');
    const string rest = end == string::npos || again_ ? string() : value_.substr(end + 1);
    drop();
    again_ = true;
    feed(rest, found);
    again_ = false;
}

void JsonValues::drop() {
    value_.clear();
    brackets_.clear();
    in_text_ = escaped_ = false;
    before_ = 0;
}

/// Returns true if an object or a list may begin here, within the value.
bool JsonValues::may_begin_value() const {
    return before_ == ':' || before_ == '[' || (before_ == ',' && brackets_.back() == '[');
}

void JsonValues::take_outside(char c) {
    if (c == '\n') garbage_ = false;
    const bool between = string_view(" \t\r\n[],").find(c) != string_view::npos;
    garbage_ = garbage_ || (!between && c != '{');
    if (garbage_ || c != '{') return;
    value_ = brackets_ = before_ = c;
}

void JsonValues::take(char c, const Found& found) {
    if (value_.empty()) return take_outside(c);
    if (in_text_) {
        if (c == '\n') return drop();  // a text ends in its line
        value_ += c;
        if (!escaped_ && c == '"') in_text_ = false;
        escaped_ = !escaped_ && c == '\\';
        return;
    }
    if ((c == '{' || c == '[') && !may_begin_value()) {
        leave_first_line(found);
        return take(c, found);
    }
    value_ += c;
    if (value_.size() > most_bytes) {
        drop();
        garbage_ = left_out_ = true;
        return;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return;
    before_ = c;
    if (c == '"') in_text_ = true;
    if (c == '{' || c == '[') brackets_ += c;
    if (c != '}' && c != ']') return;
    brackets_.pop_back();
    if (!brackets_.empty()) return;
    const string whole = std::move(value_);
    drop();
    found(whole);
}

string add_records(string_view text, const string& objective, std::vector<Metrics>& records) {
    const json object = parse_json(text);
    if (!object.is_object()) return "its JSON has an error: " + string(text.substr(0, max_quoted_bytes));
    string problem;
    add_records_of(object, objective, records, problem);
    return problem;
}

}  // namespace hpo::script
