#include "orchestrator/script/syntax/configuration_file.hpp"

#include <algorithm>
#include <array>

#include "hpo/wire.hpp"
#include "orchestrator/script/syntax/template.hpp"

namespace hpo::script {

namespace {

using std::string;
using std::string_view;
using wire::Json;

string literal(const Value& value, Format format) {
    if (format == Format::text) return to_text(value);
    if (const auto* number = std::get_if<double>(&value)) return yaml_number(*number);
    return wire::json_text(wire::from(value));
}

/// Returns the quote that is open at position `at` of a line, or 0 if none is open.
char open_quote(string_view line, std::size_t at, Format format) {
    char open = 0;
    for (std::size_t i = 0; i < at; ++i) {
        const char c = line[i];
        if (open == '"' && c == '\\') {
            ++i;
        } else if (open != 0) {
            if (c == open) open = 0;
        } else if (c == '"' || (c == '\'' && format != Format::json)) {
            // An apostrophe within a word is not a quote in YAML.
            if (i == 0 || string_view(" \t[{,:=").find(line[i - 1]) != string_view::npos) open = c;
        }
    }
    return open;
}

string escaped(const string& text, char quote, Format format) {
    if (quote == '"') {
        const string json = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
        return json.substr(1, json.size() - 2);
    }
    string out;
    for (const char c : text) out += c == '\'' && format == Format::yaml ? string("''") : string(1, c);
    return out;
}

/// Returns true if the range [from, to) of a line is a value of its own, such as {lr} in "lr: {lr}".
bool is_whole_value(string_view line, std::size_t from, std::size_t to) {
    return (from == 0 || string_view(" \t[{,:=").find(line[from - 1]) != string_view::npos) &&
           (to == line.size() || string_view(" \t\r,]}").find(line[to]) != string_view::npos);
}

/// Fills a line. Returns nothing if the line must be left out, because a value is missing and the format has no null.
std::optional<string> fill_line(string_view line, Format format, const Values& values) {
    bool is_complete = true;
    const auto names = placeholders(line);
    std::size_t next = 0;
    // fill() calls this once for each placeholder, in their order.
    const auto filled = fill(line, [&](const string& name) -> std::optional<string> {
        const string_view braced = names.at(next++);
        const auto from = static_cast<std::size_t>(braced.data() - line.data()) - 1;
        const std::size_t to = from + braced.size() + 2;
        auto value = values(name);
        if (value && is_null(*value)) value.reset();
        if (!value && (format == Format::text || format == Format::toml)) is_complete = false;
        const Value value_or_null = value ? *value : Value(JsonText{"null"});
        const char quote = format == Format::text ? '\0' : open_quote(line, from, format);
        if (quote != 0) return escaped(value ? to_text(value_or_null) : "", quote, format);
        return is_whole_value(line, from, to) ? literal(value_or_null, format) : to_text(value_or_null);
    });
    return is_complete ? filled : std::nullopt;
}

void add_yaml(string& out, const Json& map, int indent) {
    // YAML readers may take these keys for another type than a text.
    static constexpr std::array<string_view, 9> keywords{"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
    for (const auto& [key, item] : map.items()) {
        string lower = key;
        for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        const bool is_keyword = std::find(keywords.begin(), keywords.end(), lower) != keywords.end();
        out += string(static_cast<std::size_t>(indent), ' ') + (is_keyword ? '"' + key + '"' : key) + ':';
        if (item.is_object() && !item.empty()) {
            out += '\n';
            add_yaml(out, item, indent + 2);
        } else {
            out += ' ' + (item.is_number_float() ? yaml_number(item.get<double>()) : wire::json_text(item)) + '\n';
        }
    }
}

}  // namespace

string yaml_number(double number) {
    string text = to_text(number);
    if (const auto e = text.find('e'); e != string::npos && text.find('.') == string::npos) text.insert(e, ".0");
    return text;
}

Format format_of(string_view file_name) {
    if (file_name.ends_with(".json")) return Format::json;
    if (file_name.ends_with(".yaml") || file_name.ends_with(".yml")) return Format::yaml;
    return file_name.ends_with(".toml") ? Format::toml : Format::text;
}

string fill_file(string_view text, Format format, const Values& values) {
    string out;
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (const auto line = fill_line(text.substr(0, end), format, values)) {
            out += *line;
            if (end != string_view::npos) out += '\n';
        }
        text.remove_prefix(end == string_view::npos ? text.size() : end + 1);
    }
    return out;
}

string params_text(const Params& params, Format format) {
    Json nested = Json::object();
    for (const auto& [name, value] : params) {
        Json* at = &nested;
        string_view rest = name;
        for (std::size_t dot; at->is_object() && (dot = rest.find('.')) != string_view::npos;) {
            Json& inner = (*at)[string(rest.substr(0, dot))];
            if (inner.is_null()) inner = Json::object();
            at = &inner;
            rest.remove_prefix(dot + 1);
        }
        if (at->is_object()) (*at)[string(rest)] = wire::from(value);
    }
    if (format == Format::json) return nested.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
    if (nested.empty()) return "{}\n";
    string out;
    add_yaml(out, nested, 0);
    return out;
}

string clash_of_names(const Params& params) {
    for (const auto& [name, value] : params)
        for (auto dot = name.find('.'); dot != string::npos; dot = name.find('.', dot + 1))
            if (const string outer = name.substr(0, dot); params.contains(outer)) return outer;
    return {};
}

}  // namespace hpo::script
