#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "hpo/dimension_value.hpp"
#include "hpo/text.hpp"
#include "orchestrator/study/letters.hpp"
#include "orchestrator/study/sections.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/study/utf8.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

constexpr std::size_t max_dimensions = 256;
constexpr std::array<string_view, 3> kind_names{"float", "int", "categorical"};
constexpr std::array<string_view, 4> role_names{"none", "batch_size", "learning_rate", "regularizer"};

template <std::size_t N>
std::vector<string_view> list(const std::array<string_view, N>& names) {
    return {names.begin(), names.end()};
}

class SpaceReader {
   public:
    SpaceReader(Diagnostics& diagnostics, bool native, const Params& fixed)
        : diagnostics_(diagnostics), native_(native), fixed_(fixed) {}

    ReadSpace read(const Node& node) {
        if (node.entries.size() > max_dimensions)
            diagnostics_.error(node.location, "more than " + std::to_string(max_dimensions) + " parameters");
        for (const Entry& entry : node.entries) {
            const std::size_t before = result_.space.size();
            dimension(entry);
            if (result_.space.size() == before) result_.broken.push_back(entry.key);
        }
        for (const auto& [index, when] : conditions_) read_conditions(result_.space[index], *when);
        resolve_ranges(diagnostics_, result_, ends_, native_, fixed_);
        return std::move(result_);
    }

   private:
    void dimension(const Entry& entry) {
        if (entry.key == "where" && entry.value.kind != Node::Kind::map)
            return diagnostics_.error(entry.location, "'where' stands beside 'space', not in it");
        const WorkerKey* key = native_ ? find_worker_key(entry.key) : nullptr;
        if (!check_name(entry, key)) return;

        Fields fields(diagnostics_, &entry.value, "space." + entry.key, "{type: float, low: 0.001, high: 0.1}");
        if (fields.node() == nullptr) return;
        Dimension dimension;
        dimension.name = entry.key;
        const Node* type = fields.take("type");
        const Node* low = fields.take("low");
        const Node* high = fields.take("high");
        const Node* step = fields.take("step");
        const Node* log = fields.take("log");
        const Node* choices = fields.take("choices");
        const Node* role = fields.take("role");
        const Node* prior = fields.take("prior");
        const Node* spread = fields.take("spread");
        const Node* when = fields.take("when");
        fields.finish();
        if (type == nullptr) return fields.missing("type", "float, int or categorical");
        const auto kind = word(diagnostics_, *type, fields.path_of("type"), list(kind_names));
        if (!kind) return;
        dimension.kind = static_cast<Kind>(*kind);

        const bool categorical = dimension.kind == Kind::categorical;
        bool matches_kind = true;
        const auto refuse = [&](const Node* node, string_view name, string_view reason) {
            if (node == nullptr) return;
            diagnostics_.error(node->location, "'" + fields.path_of(name) + "' " + string(reason));
            matches_kind = false;
        };
        if (categorical) {
            for (const auto& [node, name] : {std::pair{low, "low"}, {high, "high"}, {step, "step"}, {log, "log"}})
                refuse(node, name, "is for numbers; a categorical parameter has 'choices'");
        } else {
            refuse(choices, "choices", "is for type: categorical; a number has 'low' and 'high'");
        }
        if (!matches_kind || !fits_key(dimension, key, *type)) return;
        if (categorical && choices == nullptr)
            return fields.missing("choices", "a list such as [relu, gelu]", &entry.location);
        if (!categorical && (low == nullptr || high == nullptr)) {
            for (const auto& [node, name] : {std::pair{low, "low"}, std::pair{high, "high"}})
                if (node == nullptr) fields.missing(name, "the range is 'low' to 'high'", &entry.location);
            return;
        }
        if (categorical ? !read_choices(dimension, key, *choices) : !read_range(dimension, key, *low, *high, step, log))
            return;
        dimension.role = recognised_role(dimension.name, dimension.kind);
        if (role != nullptr) read_role(dimension, *role);
        if (!read_prior(dimension, prior, spread)) return;
        if (when != nullptr) conditions_.emplace_back(result_.space.size(), when);
        result_.space.push_back(std::move(dimension));
        result_.locations.push_back(entry.location);
    }

    /// Returns true if a dimension may have this name. Reports an error if it may not.
    bool check_name(const Entry& entry, const WorkerKey* key) {
        if (!is_name(entry.key)) {
            diagnostics_.error(entry.location, not_a_name(entry.key));
            return false;
        }
        if (!native_) return true;
        if (key == nullptr) {
            std::vector<string_view> names;
            for (const WorkerKey& row : worker_keys)
                if (row.section == "model" || row.section == "training") names.push_back(row.name);
            diagnostics_.error(entry.location,
                               "unknown parameter '" + entry.key + "' in 'space'" + suggestion(entry.key, names));
            return false;
        }
        if (key->section == "data" || key->section.empty()) {
            diagnostics_.error(entry.location,
                               "'" + entry.key +
                                   "' cannot vary: trials on different data or tasks cannot be compared; "
                                   "fix it in 'worker'");
            return false;
        }
        return true;
    }

    /// Returns true if the worker's key accepts values of the dimension's kind. Reports an error if it does not.
    bool fits_key(const Dimension& dimension, const WorkerKey* key, const Node& type) {
        if (key == nullptr || dimension.kind == Kind::categorical) return true;
        if (key->type == OptionType::integer && dimension.kind == Kind::integer) return true;
        if (key->type == OptionType::real) return true;
        const string_view cure = key->type == OptionType::integer ? "int" : "categorical";
        diagnostics_.error(type.location,
                           "'" + dimension.name + "' takes type: " + string(cure) + ", found " + printable(type.text));
        return false;
    }

    bool read_choices(Dimension& dimension, const WorkerKey* key, const Node& choices) {
        const string path = "space." + dimension.name + ".choices";
        if (choices.kind != Node::Kind::list || choices.items.empty()) {
            diagnostics_.error(choices.location, "'" + path + "' must be a list of at least one choice");
            return false;
        }
        const std::size_t before = choices.items.size();
        for (const Node& item : choices.items) {
            const auto value = key != nullptr ? option_value(diagnostics_, item, option_of(*key))
                                              : natural_value(diagnostics_, item, path);
            if (!value) continue;
            const auto equal = std::find_if(dimension.choices.begin(), dimension.choices.end(),
                                            [&](const Value& other) { return same_value(other, *value); });
            if (equal != dimension.choices.end())
                diagnostics_.error(item.location, "'" + path + "' contains " + printable(to_text(*value)) + " twice");
            else
                dimension.choices.push_back(*value);
        }
        return dimension.choices.size() == before;
    }

    bool read_range(Dimension& dimension, const WorkerKey* key, const Node& low, const Node& high, const Node* step,
                    const Node* log) {
        const string path = "space." + dimension.name;
        const double least = key != nullptr ? key->low : -std::numeric_limits<double>::infinity();
        const double most = key != nullptr ? key->high : std::numeric_limits<double>::infinity();
        const auto number = [&](const Node& node, string_view name) -> std::optional<double> {
            if (dimension.kind == Kind::real) return real(diagnostics_, node, path + "." + string(name), least, most);
            const auto value = whole(diagnostics_, node, path + "." + string(name), std::max(least, -max_whole), most);
            return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
        };
        bool is_valid = true;
        for (const bool upper : {false, true}) {
            const Node& node = upper ? high : low;
            const string name = upper ? "high" : "low";
            if (const Node* text = expression_of_end(node)) {
                ends_.push_back({result_.space.size(), upper, text});
                (upper ? dimension.high_of : dimension.low_of) = text->text;
            } else if (const auto value = number(node, name)) {
                (upper ? dimension.high : dimension.low) = *value;
            } else {
                is_valid = false;
            }
        }
        if (!is_valid) return drop_ends();
        if (!dimension.dependent()) {
            if (dimension.low > dimension.high) {
                diagnostics_.error(low.location, "'" + path + ".low' (" + exact_number(dimension.low) +
                                                     ") is above 'high' (" + exact_number(dimension.high) + ")");
                return false;
            }
            if (!std::isfinite(dimension.high - dimension.low)) {
                diagnostics_.error(high.location, "'" + path + "' is wider than a float can hold");
                return false;
            }
        }
        if (log != nullptr) {
            const auto answer = flag(diagnostics_, *log, path + ".log");
            if (!answer) return drop_ends();
            dimension.log = *answer;
        }
        if (dimension.log && dimension.low_of.empty() && dimension.low <= 0) {
            diagnostics_.error(low.location, "'" + path + ".low' must be above 0 with log: true, found " +
                                                 exact_number(dimension.low));
            return drop_ends();
        }
        return step == nullptr || read_step(dimension, *step) || drop_ends();
    }

    /// Forgets the expressions of the dimension that is being read, which has an error. Returns false.
    bool drop_ends() {
        std::erase_if(ends_, [&](const DependentEnd& end) { return end.dimension == result_.space.size(); });
        return false;
    }

    /// The preferred value, and how far good values lie from it.
    bool read_prior(Dimension& dimension, const Node* prior, const Node* spread) {
        const string path = "space." + dimension.name;
        const bool categorical = dimension.kind == Kind::categorical;
        if (spread != nullptr && (prior == nullptr || categorical)) {
            diagnostics_.error(spread->location,
                               "'" + path + ".spread' needs a number as 'prior', around which good values lie");
            return false;
        }
        if (prior == nullptr) return true;
        if (dimension.dependent()) {
            diagnostics_.error(prior->location, "'" + path + ".prior' is for a range with fixed ends");
            return drop_ends();
        }
        const auto value = natural_value(diagnostics_, *prior, path + ".prior");
        if (!value) return false;
        if (categorical) {
            for (const Value& choice : dimension.choices)
                if (same_value(choice, *value)) dimension.prior = choice;
        } else {
            const double number = number_or(*value, std::nan("")), step = dimension.step.value_or(1);
            const bool steps = dimension.step || dimension.kind == Kind::integer;
            const double nearest = dimension.low + std::round((number - dimension.low) / step) * step;
            const bool fits = !steps || std::abs(nearest - number) <= 1e-9 * std::max(1.0, std::abs(number));
            if (number >= dimension.low && number <= dimension.high && fits)
                dimension.prior = dimension.kind == Kind::integer
                                      ? Value(static_cast<std::int64_t>(std::llround(number)))
                                      : Value(number);
        }
        if (!dimension.prior) {
            diagnostics_.error(prior->location, "'" + path + ".prior' must be a value of the parameter (" +
                                                    describe(dimension) + "), found " + printable(to_text(*value)));
            return false;
        }
        if (spread == nullptr) return true;
        dimension.spread = real(diagnostics_, *spread, path + ".spread", 0.01, 1);
        return dimension.spread.has_value();
    }

    bool read_step(Dimension& dimension, const Node& node) {
        const string path = "space." + dimension.name + ".step";
        if (dimension.log) {
            diagnostics_.error(node.location, "'" + path + "' and log: true exclude each other");
            return false;
        }
        const double width = dimension.high - dimension.low;
        std::optional<double> step;
        if (dimension.kind == Kind::integer) {
            if (const auto value = whole(diagnostics_, node, path, 1, max_whole)) step = static_cast<double>(*value);
        } else {
            step = real(diagnostics_, node, path, 0, std::numeric_limits<double>::max());
            if (step && *step == 0) {
                diagnostics_.error(node.location, "'" + path + "' must be above 0");
                return false;
            }
        }
        if (!step) return false;
        dimension.step = *step;
        if (dimension.dependent()) return true;  // the last step before the end is the last value
        const double steps = width / *step;
        const double nearest_whole = std::round(steps);
        if (!(steps < 1e9)) {
            diagnostics_.error(node.location, "'" + path + "' is too fine: more than 1e9 steps; leave it out");
            return false;
        }
        if (std::abs(steps - nearest_whole) > 1e-6 * std::max(1.0, steps)) {
            const double last = dimension.low + std::floor(steps) * *step;
            diagnostics_.error(node.location, "'" + path + "' (" + exact_number(*step) + ") does not lead from " +
                                                  exact_number(dimension.low) + " to " + exact_number(dimension.high) +
                                                  "; the last value on its way is " + rounded(last));
            return false;
        }
        return true;
    }

    /// Rounds away the error of adding steps, so that 0.5000000000000001 is shown as 0.5.
    static string rounded(double number) {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.10g", number);
        return buffer;
    }

    void read_role(Dimension& dimension, const Node& node) {
        const auto index = word(diagnostics_, node, "space." + dimension.name + ".role", list(role_names));
        if (!index) return;
        const Role role = static_cast<Role>(*index);
        const bool is_integral =
            dimension.kind == Kind::integer ||
            (dimension.kind == Kind::categorical &&
             std::all_of(dimension.choices.begin(), dimension.choices.end(),
                         [](const Value& choice) { return std::holds_alternative<std::int64_t>(choice); }));
        if (role == Role::batch_size && !is_integral)
            diagnostics_.error(node.location, "role: batch_size is for type: int, or choices of whole numbers");
        else if ((role == Role::learning_rate || role == Role::regularizer) && dimension.kind == Kind::categorical)
            diagnostics_.error(node.location, "role: " + node.text + " is for numbers, type: float or int");
        else
            dimension.role = role;
    }

    void read_conditions(Dimension& dimension, const Node& node) {
        Fields fields(diagnostics_, &node, "space." + dimension.name + ".when");
        if (fields.node() == nullptr) return;
        if (node.entries.empty())
            diagnostics_.error(node.location, "'" + fields.path() + "' names no parameter; leave it out");
        for (const Entry& entry : node.entries) {
            const auto parent = std::find_if(result_.space.begin(), result_.space.end(),
                                             [&](const Dimension& other) { return other.name == entry.key; });
            const auto& broken = result_.broken;
            if (std::find(broken.begin(), broken.end(), entry.key) != broken.end()) continue;
            if (parent == result_.space.end()) {
                std::vector<string_view> names;
                for (const Dimension& other : result_.space)
                    if (other.name != dimension.name) names.push_back(other.name);
                diagnostics_.error(entry.location, "'" + fields.path() + "' needs a parameter of 'space', found '" +
                                                       printable(entry.key) + "'" + suggestion(entry.key, names));
                continue;
            }
            if (parent->kind == Kind::real) {
                diagnostics_.error(entry.location,
                                   "a condition needs a categorical or int parameter; '" + entry.key + "' is a float");
                continue;
            }
            Condition condition{entry.key, {}};
            if (entry.value.kind == Node::Kind::list) {
                if (entry.value.items.empty())
                    diagnostics_.error(entry.value.location, "'" + fields.path_of(entry.key) + "' has no value");
                for (const Node& item : entry.value.items) read_condition_value(condition, *parent, item, fields);
            } else {
                read_condition_value(condition, *parent, entry.value, fields);
            }
            dimension.when.push_back(std::move(condition));
        }
    }

    /// Reads one value of a condition and converts it to the parent's type.
    void read_condition_value(Condition& condition, const Dimension& parent, const Node& node, const Fields& fields) {
        const auto value = natural_value(diagnostics_, node, fields.path_of(parent.name));
        if (!value) return;
        if (parent.kind == Kind::integer) {
            const double number = number_or(*value, std::nan(""));
            const double steps = (number - parent.low) / parent.step.value_or(1);
            const bool fits = parent.dependent()  // its range is not known yet
                                  ? number == std::floor(number)
                                  : number >= parent.low && number <= parent.high && steps == std::floor(steps);
            if (fits) return condition.any_of.emplace_back(static_cast<std::int64_t>(number)), void();
        } else {
            for (const Value& choice : parent.choices)
                if (same_value(choice, *value)) return condition.any_of.push_back(choice);
        }
        diagnostics_.error(node.location, "'" + parent.name + "' is never " + printable(to_text(*value)) + "; it is " +
                                              describe_values(parent));
    }

    static string describe_values(const Dimension& dimension) {
        if (dimension.kind == Kind::integer)
            return exact_number(dimension.low) + " to " + exact_number(dimension.high) +
                   (dimension.step ? " by " + exact_number(*dimension.step) : "");
        string choices;
        for (const Value& choice : dimension.choices) choices += (choices.empty() ? "" : ", ") + to_text(choice);
        return "one of " + printable(choices, 200);
    }

    Diagnostics& diagnostics_;
    bool native_;
    const Params& fixed_;
    ReadSpace result_;
    std::vector<DependentEnd> ends_;
    std::vector<std::pair<std::size_t, const Node*>> conditions_;
};

}  // namespace

ReadSpace read_space(Diagnostics& diagnostics, const Node* node, bool native, const Params& fixed) {
    if (node == nullptr || node->kind == Node::Kind::null) return {};
    const Fields fields(diagnostics, node, "space");
    if (fields.node() == nullptr) return {};
    return SpaceReader(diagnostics, native, fixed).read(*node);
}

bool is_name(string_view name) {
    constexpr int most = 64;  // characters
    const auto is_letter = [](std::uint32_t code) {
        return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || code == '_' ||
               is_letter_of_a_script(code);
    };
    int read = 0;
    for (; !name.empty() && read < most; ++read) {
        const std::size_t length = code_point_length(name);
        if (length == 0) return false;
        const std::uint32_t code = code_point(name.substr(0, length));
        const bool inner = (code >= '0' && code <= '9') || code == '-' || code == '.' || is_combining_accent(code);
        const bool fits = read == 0 ? is_letter(code) && !inner : is_letter(code) || inner;
        if (!fits) return false;
        name.remove_prefix(length);
    }
    return read > 0 && name.empty();
}

string not_a_name(string_view name) {
    string message =
        "'" + printable(name) +
        "' is not a valid parameter name: use letters, digits, '_', '-' and '.', 64 at most, a letter or '_' first";
    // Characters beyond U+FFFF, letters among them, are those of four bytes, of which the first is F0 or above.
    const auto at = name.find_first_of("\xf0\xf1\xf2\xf3\xf4");
    if (at != string_view::npos)
        message +=
            "; '" + printable(name.substr(at, 4)) + "' is a character beyond U+FFFF, and names have none of those";
    return message;
}

Role recognised_role(string_view name, Kind kind) {
    if (name == "batch_size") return Role::batch_size;
    if (kind == Kind::categorical) return Role::none;
    if (name == "lr" || name == "learning_rate") return Role::learning_rate;
    for (const string_view known :
         {"weight_decay", "wd", "l1", "l2", "dropout", "dropout_rate", "drop_path", "label_smoothing"})
        if (name == known) return Role::regularizer;
    return Role::none;
}

Option option_of(const WorkerKey& key) {
    return {key.name, key.type, key.low, key.high, key.choices, key.fallback, key.meaning};
}

}  // namespace hpo::study
