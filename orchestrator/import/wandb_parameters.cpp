#include "orchestrator/import/wandb_parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hpo/text.hpp"
#include "orchestrator/import/arguments.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

using std::string;
using std::string_view;
using study::Entry;
using study::find;
using study::Node;
using study::printable;

/// A distribution of W&B, with the meaning of its numbers.
struct Form {
    string_view name;
    enum class Shape { even, normal, beta, choices, constant } shape = Shape::even;
    bool log = false;
    bool exponents = false;  ///< true if min and max are natural logarithms
    bool inverse = false;    ///< true if they bound the reciprocal of the value
    bool quantized = false;
    bool whole = false;
};

namespace {

constexpr std::array forms{
    Form{"uniform"},
    Form{.name = "int_uniform", .whole = true},
    Form{.name = "q_uniform", .quantized = true},
    Form{.name = "log_uniform", .log = true, .exponents = true},
    Form{.name = "log_uniform_values", .log = true},
    Form{.name = "q_log_uniform", .log = true, .exponents = true, .quantized = true},
    Form{.name = "q_log_uniform_values", .log = true, .quantized = true},
    Form{.name = "inv_log_uniform", .log = true, .exponents = true, .inverse = true},
    Form{.name = "inv_log_uniform_values", .log = true},
    Form{"normal", Form::Shape::normal},
    Form{.name = "q_normal", .shape = Form::Shape::normal, .quantized = true},
    Form{.name = "log_normal", .shape = Form::Shape::normal, .log = true},
    Form{.name = "q_log_normal", .shape = Form::Shape::normal, .log = true, .quantized = true},
    Form{"beta", Form::Shape::beta},
    Form{.name = "q_beta", .shape = Form::Shape::beta, .quantized = true},
    Form{"categorical", Form::Shape::choices},
    Form{"categorical_w_probabilities", Form::Shape::choices},
    Form{"constant", Form::Shape::constant},
};

const Form* form_of(string_view name) {
    return std::find_if(forms.begin(), forms.end(), [&](const Form& row) { return row.name == name; });
}

}  // namespace

string quoted_text(const string& text, LiteralStyle style) {
    Node node;
    node.kind = Node::Kind::scalar;
    node.plain = false;
    node.text = text;
    return literal(node, style);
}

Argument SweepParameters::parameter(const Entry& entry, const string& prefix) {
    Argument argument;
    argument.name = entry.key;
    const string name = prefix + entry.key;
    const Node& node = entry.value;
    if (node.kind != Node::Kind::map) {
        reading_.error(
            entry.location,
            "'" + printable(name) + "' must be a map such as {min: 0.1, max: 0.9}, {values: [a, b]} or {value: 3}");
        return argument;
    }
    if (const Node* nested = find(node, "parameters")) return group(std::move(argument), name, *nested);
    const string distribution = text_of(find(node, "distribution"));
    const Form* form = &forms[0];
    if (!distribution.empty()) {
        form = form_of(distribution);
        if (form == forms.end()) {
            reading_.error(find(node, "distribution")->location, "no distribution '" + printable(distribution) + "'");
            return argument;
        }
    } else if (find(node, "values") != nullptr) {
        form = form_of("categorical");
    } else if (find(node, "value") != nullptr) {
        form = form_of("constant");
    } else if (const Node* low = find(node, "min"), *high = find(node, "max");
               low && high && is_whole(*low) && is_whole(*high)) {
        form = form_of("int_uniform");
    }
    reading_.leave_out_others(
        node, {"distribution", "value", "values", "probabilities", "min", "max", "mu", "sigma", "q", "a", "b"},
        "'" + name + "'");
    switch (form->shape) {
        case Form::Shape::constant:
            return constant(std::move(argument), name, find(node, "value"), entry);
        case Form::Shape::choices:
            return choices(std::move(argument), name, node, entry);
        default:
            return number(std::move(argument), name, *form, node, entry);
    }
}

/// Reads the parameters within a parameter, which W&B passes to the script as one dictionary.
Argument SweepParameters::group(Argument argument, const string& name, const Node& nested) {
    for (const Entry& entry : nested.entries) {
        const Argument inner = parameter(entry, name + ".");
        const string quoted_name = quoted_text(entry.key, LiteralStyle::python);
        argument.text += (argument.text.empty() ? "{" : ", ") + without_placeholders(quoted_name) + ": " + inner.text;
        argument.json += (argument.json.empty() ? "{" : ", ") +
                         without_placeholders(quoted_text(entry.key, LiteralStyle::json)) + ": " + inner.json;
    }
    argument.text = argument.text.empty() ? "{}" : argument.text + "}";
    argument.json = argument.json.empty() ? "{}" : argument.json + "}";
    return argument;
}

Argument SweepParameters::constant(Argument argument, const string& name, const Node* value, const Entry& entry) {
    if (value == nullptr) {
        reading_.error(entry.location, "'" + printable(name) + "' is constant and needs 'value'");
        return argument;
    }
    if (const auto flag = flag_of(*value)) argument.flag = argument.constant = true, argument.on = *flag;
    if (const auto number = number_of(*value)) builder_.note_epochs(name, *number);
    // A text has no quotes on a command line, but it has quotes within a dictionary.
    const bool is_nested = name != argument.name;
    const bool bare = !is_nested && value->kind == Node::Kind::scalar && !argument.flag;
    argument.text =
        without_placeholders(bare && !number_of(*value) ? value->text : literal(*value, LiteralStyle::python));
    argument.json = without_placeholders(literal(*value, LiteralStyle::json));
    builder_.fix(name, value_of(*value, LiteralStyle::json));
    return argument;
}

Argument SweepParameters::choices(Argument argument, const string& name, const Node& node, const Entry& entry) {
    const Node* values = find(node, "values");
    if (values == nullptr || values->kind != Node::Kind::list || values->items.empty()) {
        reading_.error(values ? values->location : entry.location,
                       "'" + printable(name) + "' needs 'values', a list of at least one");
        return argument;
    }
    std::vector<const Node*> items;
    bool texts = false;
    for (const Node& item : values->items) items.push_back(&item), texts = texts || !number_of(item);
    const bool flags =
        std::all_of(items.begin(), items.end(), [](const Node* item) { return flag_of(*item).has_value(); });
    const auto before = builder_.study.space.size();
    if (const string problem = add_choices(builder_, name, items, style_); !problem.empty())
        return reading_.error(values->location, "'" + printable(name) + "': " + problem), argument;
    if (find(node, "probabilities") != nullptr)
        builder_.remark("space." + builder_.study.space[before].name, find(node, "probabilities")->location,
                        "choices are equally likely here: the probabilities are left out; the sampler learns which "
                        "choices are good");
    refer(argument, name, texts && !flags);
    if (flags) argument.flag = true, argument.flag_name = builder_.study.space.back().name;
    return argument;
}

/// Writes a placeholder for the last parameter of the space into the argument. `quoted` is true for texts, which need
/// quotes in JSON and within dictionaries.
void SweepParameters::refer(Argument& argument, const string& name, bool quoted) {
    const string placeholder = "{" + builder_.study.space.back().name + "}";
    const bool is_nested = name != argument.name;
    argument.text = is_nested && quoted ? "'" + placeholder + "'" : placeholder;
    argument.json = quoted ? "\"" + placeholder + "\"" : placeholder;
}

Argument SweepParameters::number(Argument argument, const string& name, const Form& form, const Node& node,
                                 const Entry& entry) {
    std::optional<double> quantum;
    bool whole = form.whole;
    if (form.quantized) {
        const Node* q = find(node, "q");
        quantum = q == nullptr ? 1.0 : number_of(*q).value_or(0);
        whole = q == nullptr || is_whole(*q);
    }
    string problem;
    const string key = "space." + StudyBuilder::study_name_of(name);
    const auto before = builder_.study.space.size();
    const auto option = [&](const char* option_key, double otherwise) {
        const Node* given = find(node, option_key);
        return given == nullptr ? otherwise : number_of(*given).value_or(std::nan(""));
    };
    if (form.shape == Form::Shape::normal) {
        problem =
            add_normal(builder_, name, option("mu", 0), option("sigma", 1), form.log, quantum, whole, entry.location);
    } else if (form.shape == Form::Shape::beta) {
        builder_.remark(key, entry.location, "a beta distribution becomes a uniform one from 0 to 1");
        problem = add_range(builder_, name, {0, 1, false, quantum, whole}, entry.location);
    } else {
        Range range{option("min", std::nan("")), option("max", std::nan("")), form.log, quantum, whole};
        if (std::isnan(range.low) || std::isnan(range.high)) {
            problem = "needs 'min' and 'max' (numbers), 'values' or 'value'";
        } else {
            if (form.exponents) {
                builder_.comment(key, string(form.name) + " of exponents " + exact_number(range.low) + " to " +
                                          exact_number(range.high));
                const double low = form.inverse ? -range.high : range.low;
                range.high = rounded(std::exp(form.inverse ? -range.low : range.high));
                range.low = rounded(std::exp(low));
            }
            problem = add_range(builder_, name, range, entry.location);
        }
    }
    if (!problem.empty() || builder_.study.space.size() == before)
        return reading_.error(entry.location, "'" + printable(name) + "': " + problem), argument;
    refer(argument, name, false);
    return argument;
}

}  // namespace hpo::importing
