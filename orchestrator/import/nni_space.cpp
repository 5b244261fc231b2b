#include "orchestrator/import/nni_space.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hpo/text.hpp"
#include "orchestrator/import/arguments.hpp"
#include "orchestrator/import/distributions.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

using std::string;
using std::string_view;
using study::Entry;
using study::find;
using study::Node;
using study::printable;

void NniSpace::read(const Node& root) {
    if (root.kind != Node::Kind::map || root.entries.empty())
        return reading_.error(root.location, "a search space is a map of names to {_type: ..., _value: [...]}");
    for (const Entry& entry : root.entries) parameter(entry, "", {});
}

void NniSpace::parameter(const Entry& entry, const string& prefix, const std::vector<Condition>& when) {
    const string name = prefix + entry.key;
    const string type = text_of(find(entry.value, "_type"));
    const Node* value = find(entry.value, "_value");
    if (type.empty() || value == nullptr || value->kind != Node::Kind::list)
        return reading_.error(
            entry.location, "'" + printable(name) + "' must have '_type' (choice, uniform, ...) and '_value', a list");
    const auto before = builder_.study.space.size();
    const string problem = type == "choice" ? choice(name, *value, when) : number(name, type, *value);
    if (!problem.empty()) return reading_.error(entry.location, "'" + printable(name) + "': " + problem);
    builder_.study.space[before].when = when;
}

string NniSpace::choice(const string& name, const Node& value, const std::vector<Condition>& when) {
    std::vector<const Node*> items;
    std::vector<Node> names;  // of nested choices
    names.reserve(value.items.size());
    for (const Node& item : value.items) {
        const Node* inner = find(item, "_name");
        if (inner != nullptr) names.push_back(*inner), names.back().plain = false;
        items.push_back(inner == nullptr ? &item : &names.back());
    }
    const auto before = builder_.study.space.size();
    if (string problem = add_choices(builder_, name, items, LiteralStyle::json); !problem.empty()) return problem;
    const string parent = builder_.study.space[before].name;
    bool reported = false;
    for (const Node& item : value.items) {
        const Node* inner = find(item, "_name");
        if (inner == nullptr) continue;
        std::vector<Condition> inside = when;
        inside.push_back({parent, {inner->text}});
        for (const Entry& entry : item.entries) {
            if (entry.key == "_name") continue;
            parameter(entry, name + ".", inside);
            if (!reported)
                builder_.remark("space." + parent, entry.location,
                                "a parameter within a choice becomes its own parameter here, " + name + "." +
                                    entry.key +
                                    ", which exists only with that choice; the script finds it within the "
                                    "choice");
            reported = true;
        }
    }
    return {};
}

string NniSpace::number(const string& name, const string& type, const Node& value) {
    std::vector<double> numbers;
    for (const Node& item : value.items) numbers.push_back(number_of(item).value_or(std::nan("")));
    const bool quantized = type.starts_with('q');
    const string_view plain = string_view(type).substr(quantized ? 1 : 0);
    const std::size_t expected = quantized ? 3 : type == "randint" && numbers.size() == 1 ? 1 : 2;
    constexpr std::array<string_view, 4> known{"uniform", "loguniform", "normal", "lognormal"};
    if (type != "randint" && std::find(known.begin(), known.end(), plain) == known.end())
        return "no type '" + printable(type) +
               "'; known: choice, randint, uniform, loguniform, normal, lognormal, and q before the last four";
    if (numbers.size() != expected ||
        std::any_of(numbers.begin(), numbers.end(), [](double n) { return std::isnan(n); }))
        return "'_value' of " + type + " is a list of " + std::to_string(expected) + " numbers";
    std::optional<double> quantum;
    if (quantized) quantum = numbers[2];
    const bool whole = quantized && is_whole(value.items[2]) && is_whole(value.items[0]) && is_whole(value.items[1]);
    if (type == "randint") {
        // The upper bound is excluded.
        const double low = numbers.size() == 1 ? 0 : numbers[0];
        return add_range(builder_, name, {low, numbers.back() - 1, false, {}, true}, value.location);
    }
    if (plain == "normal" || plain == "lognormal")
        return add_normal(builder_, name, numbers[0], numbers[1], plain == "lognormal", quantum, whole, value.location);
    Range range{numbers[0], numbers[1], plain == "loguniform", quantum, whole};
    if (quantum && *quantum > 0 && !range.log) {
        // NNI rounds to multiples and then clips them to the bounds.
        const double first = std::ceil(range.low / *quantum) * *quantum,
                     last = std::floor(range.high / *quantum) * *quantum;
        if (first > last) return "no multiple of " + exact_number(*quantum) + " lies between the bounds";
        if (first != range.low || last != range.high)
            builder_.remark("space." + StudyBuilder::study_name_of(name), value.location,
                            "the bounds themselves are left out: they are not multiples of " + exact_number(*quantum));
        range.low = first, range.high = last;
    }
    return add_range(builder_, name, range, value.location);
}

}  // namespace hpo::importing
