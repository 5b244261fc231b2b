#include "orchestrator/study/schema.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "hpo/version.hpp"
#include "hpo/worker_keys.hpp"
#include "orchestrator/study/letters.hpp"
#include "orchestrator/study/study_keys.hpp"

namespace hpo::study {

namespace {

using Json = nlohmann::ordered_json;
using std::string;
using std::string_view;

constexpr string_view text_form = "<text>";
constexpr const char* plain_name_pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$";  // of a study and of a trial's file

Json text_schema(const char* pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

Json map_schema() {
    return {{"type", {"object", "null"}}, {"properties", Json::object()}, {"additionalProperties", false}};
}

Json number_schema(bool whole, double low, double high) {
    Json schema{{"type", whole ? "integer" : "number"}};
    const auto limit = [&](const char* name, double value) {
        if (!std::isfinite(value)) return;
        if (value == std::floor(value) && std::abs(value) <= 9007199254740992.0)
            schema[name] = static_cast<std::int64_t>(value);
        else
            schema[name] = value;
    };
    limit("minimum", low);
    limit("maximum", high);
    return schema;
}

/// Reads the type between < and >.
Json type_schema(string_view type) {
    std::istringstream words{string(type)};
    string name;
    words >> name;
    if (name == "integer" || name == "number") {
        double low = -HUGE_VAL, high = HUGE_VAL;
        if (words >> low) words >> high;
        return number_schema(name == "integer", low, words || words.eof() ? high : HUGE_VAL);
    }
    if (name == "text") return {{"type", {"string", "number", "boolean"}}};  // a plain 7 is a text too
    if (name == "flag") return {{"type", "boolean"}};
    if (name == "map") return {{"type", "object"}};
    if (name == "null") return {{"type", "null"}};
    if (name == "name") return {{"type", {"string", "number"}}, {"pattern", plain_name_pattern}};
    if (name == "duration") return text_schema("^([0-9]+(\\.[0-9]*)?(d|h|m|s|ms))+$");
    if (name == "size") return text_schema("^([0-9]+(\\.[0-9]*)?(GiB|MiB|KiB|GB|MB|kB|B))+$");
    if (name == "percent") return text_schema("^[0-9]+(\\.[0-9]*)?%$");
    if (name == "best") return text_schema("^best [1-9][0-9]*$");
    if (name == "constraint") {
        Json schema = map_schema();
        schema["type"] = "object";
        schema["properties"] = {
            {"metric", form_schema(text_form)}, {"min", {{"type", "number"}}}, {"max", {{"type", "number"}}}};
        schema["required"] = {"metric"};
        schema["anyOf"] = {{{"required", {"min"}}}, {{"required", {"max"}}}};
        return schema;
    }
    return Json::object();  // <value>
}

/// Splits a form at the bars that are not within brackets.
std::vector<string_view> alternatives(string_view form) {
    std::vector<string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at <= form.size(); ++at) {
        if (at < form.size() && form[at] == '[') ++depth;
        if (at < form.size() && form[at] == ']') --depth;
        if (at < form.size() && (form[at] != '|' || depth > 0)) continue;
        parts.push_back(form.substr(begin, at - begin));
        begin = at + 1;
    }
    return parts;
}

Json any_of(Json schemas) { return schemas.size() == 1 ? schemas[0] : Json{{"anyOf", std::move(schemas)}}; }

/// Adds the texts that an editor shows of a key.
Json described(Json schema, string_view meaning, string_view fallback) {
    schema["description"] = meaning;
    if (fallback.empty()) return schema;
    const Json value = Json::parse(fallback, nullptr, false);
    schema["default"] = value.is_discarded() ? Json(fallback) : value;
    return schema;
}

string form_of(OptionType type, double low, double high, string_view choices) {
    if (!choices.empty()) return string(choices);
    if (type == OptionType::text) return string(text_form);
    if (type == OptionType::flag) return "<flag>";
    std::ostringstream limits;
    limits.precision(17);
    limits << low;
    if (std::isfinite(high)) limits << ' ' << high;
    if (type == OptionType::list) return "[<integer " + limits.str() + ">]";
    return (type == OptionType::integer ? "<integer " : "<number ") + limits.str() + ">";
}

/// A map that names a part by `name_key` and has the part's options beside it.
Json parts_schema(const char* name_key, std::span<const PartOptions> parts) {
    Json names = Json::array(), cases = Json::array();
    for (const PartOptions& part : parts) {
        names.push_back(part.name);
        Json map = map_schema();
        map["properties"][name_key] = {{"description", part.meaning}};
        for (const Option& option : part.options)
            map["properties"][string(option.name)] =
                described(form_schema(form_of(option.type, option.low, option.high, option.choices)), option.meaning,
                          option.fallback);
        cases.push_back({{"if", {{"properties", {{name_key, {{"const", part.name}}}}}}}, {"then", map}});
    }
    return {{"type", "object"},
            {"properties", {{name_key, {{"enum", names}}}}},
            {"required", {name_key}},
            {"allOf", cases}};
}

/// Returns a code point of U+0080 to U+FFFF in UTF-8.
string utf8(std::uint32_t code) {
    string text = code < 0x800
                      ? string{static_cast<char>(0xc0 | (code >> 6))}
                      : string{static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f))};
    return text + static_cast<char>(0x80 | (code & 0x3f));
}

/// Adds the characters from `first` to `last`, if there are any, to a character class of a regular expression. They
/// stand for themselves, since dialects escape them differently.
void add_range(string& characters, std::uint32_t first, std::uint32_t last) {
    if (first > last) return;
    characters += utf8(first);
    if (last > first) characters += '-' + utf8(last);
}

/// Returns the regular expression of names that is_name() accepts.
const string& name_pattern() {
    static const string pattern = [] {
        string first, others;
        for (const CodePoints range : letter_ranges) {
            add_range(first, range.first, std::min(range.last, combining_accents.first - 1));
            add_range(first, std::max(range.first, combining_accents.last + 1), range.last);
            add_range(others, range.first, range.last);
        }
        return "^[A-Za-z_" + first + "][A-Za-z0-9_." + others + "-]{0,63}$";
    }();
    return pattern;
}

/// Returns the place of a key in the schema, and makes the maps that lead there.
Json& place_of(Json& root, string_view path) {
    const string names = path.starts_with("space.") ? name_pattern() : plain_name_pattern;
    Json* at = &root;
    while (true) {
        const auto dot = path.find('.');
        const string_view name = path.substr(0, dot);
        if (!at->contains("properties")) *at = map_schema();
        at = name == "NAME" ? &(*at)["patternProperties"][names] : &(*at)["properties"][string(name)];
        if (dot == string_view::npos) return *at;
        path.remove_prefix(dot + 1);
    }
}

/// Returns the schema of the keys of study_keys.hpp. The keys of `worker` are those of a script.
Json keys_schema(const Vocabulary& vocabulary) {
    Json root = map_schema();
    for (const StudyKey& key : study_keys) {
        if (key.path == "sampler.type") {
            root["properties"]["sampler"] = described(parts_schema("type", vocabulary.samplers), key.meaning, "");
            continue;
        }
        Json& place = place_of(root, key.path);
        if (key.form == "[<same>]")
            place = Json{{"anyOf", {place, {{"type", "array"}, {"items", place}}}}};
        else if (key.path == "stopping")
            place = Json{
                {"anyOf",
                 {form_schema("auto|<null>"), {{"type", "array"}, {"items", parts_schema("rule", vocabulary.rules)}}}}};
        else
            place = form_schema(key.form);
        place = described(std::move(place), key.meaning, key.fallback);
    }
    return root;
}

Json worker_key_schema(const WorkerKey& key) {
    string form = form_of(key.type, key.low, key.high, key.choices);
    if (key.listed) form += "|[<text>]";
    return described(form_schema(form), key.meaning, key.fallback);
}

/// Requires each key of the data where it applies, as its format decides.
void require_data_keys(Json& data) {
    Json cases = Json::array();
    for (const WorkerKey& key : worker_keys) {
        if (key.section != "data" || !key.required || condition_of(key) != "format") continue;
        Json formats = Json::array();
        each_choice(key.applies_when.substr(sizeof "format"), [&](string_view one) { formats.push_back(one); });
        Json applies{{"properties", {{"format", {{"enum", formats}}}}}};
        if (!applies_with(key, "format", find_worker_key("format")->fallback)) applies["required"] = {"format"};
        cases.push_back({{"if", applies}, {"then", {{"required", {key.name}}}}});
    }
    data["allOf"] = cases;
}

Json native_schema() {
    Json root = map_schema();
    for (const WorkerKey& key : worker_keys)
        if (key.section != "data.validation")
            place_of(root, key.section.empty() ? string(key.name) : string(key.section) + '.' + string(key.name)) =
                worker_key_schema(key);
    Json& data = root["properties"]["data"];
    Json& fraction = data["properties"]["validation"];
    Json validation = map_schema();
    validation["properties"]["fraction"] = fraction;
    for (const WorkerKey& key : worker_keys)
        if (key.section == "data.validation") validation["properties"][string(key.name)] = worker_key_schema(key);
    fraction = described({{"anyOf", {fraction, validation}}}, find_worker_key("validation")->meaning, "");
    require_data_keys(data);
    return root;
}

/// The rules of a number's range and of a category's choices.
Json dimension_rules() {
    return {{"required", {"type"}},
            {"if", {{"properties", {{"type", {{"const", "categorical"}}}}}}},
            {"then",
             {{"required", {"choices"}},
              {"properties", {{"low", false}, {"high", false}, {"step", false}, {"log", false}}}}},
            {"else", {{"required", {"low", "high"}}, {"properties", {{"choices", false}}}}}};
}

}  // namespace

Json form_schema(string_view form) {
    Json words = Json::array(), schemas = Json::array();
    for (const string_view one : alternatives(form)) {
        if (one.starts_with('['))
            schemas.push_back({{"type", "array"}, {"items", form_schema(one.substr(1, one.size() - 2))}});
        else if (one.starts_with('<'))
            schemas.push_back(type_schema(one.substr(1, one.size() - 2)));
        else
            words.push_back(one);
    }
    if (!words.empty()) schemas.insert(schemas.begin(), Json{{"enum", words}});
    return any_of(std::move(schemas));
}

Json study_schema(const Vocabulary& vocabulary) {
    Json root = keys_schema(vocabulary);
    Json& properties = root["properties"];
    for (auto& [name, dimension] : properties["space"]["patternProperties"].items())
        dimension.update(dimension_rules());
    Json searched = Json::array();
    for (const WorkerKey& key : worker_keys)
        if (key.section == "model" || key.section == "training") searched.push_back(key.name);
    const Json script = properties["worker"];
    const Json has_command{{"required", {"command"}}};
    properties["worker"] = {{"if", has_command}, {"then", script}, {"else", native_schema()}};
    root["type"] = "object";
    root["required"] = {"study"};
    root["if"] = {{"required", {"worker"}}, {"properties", {{"worker", {{"not", has_command}}}}}};
    root["then"] = {{"properties", {{"space", {{"propertyNames", {{"enum", searched}}}}}}}};
    Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", std::string("Study file of hpo ") + version}};
    schema.update(root);
    return schema;
}

}  // namespace hpo::study
