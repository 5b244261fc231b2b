// Reads the sections `start` and `warm_start`: configurations to try first, and other studies to learn from.
#include <algorithm>
#include <set>

#include "hpo/dimension_value.hpp"
#include "hpo/text.hpp"
#include "orchestrator/expression/expression.hpp"
#include "orchestrator/study/sections.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::study {

namespace {

using std::string;

constexpr std::size_t max_studies = 8;

const Dimension* find_dimension(const Space& space, const string& name) {
    const auto found = std::find_if(space.begin(), space.end(), [&](const Dimension& d) { return d.name == name; });
    return found == space.end() ? nullptr : &*found;
}

string choices_text(const std::vector<Value>& values) {
    string text;
    for (const Value& value : values) text += (text.empty() ? "" : " or ") + to_text(value);
    return printable(text, 200);
}

class StartReader {
   public:
    StartReader(Diagnostics& diagnostics, const ReadSpace& space, const std::vector<string>& where, const Params& fixed)
        : diagnostics_(diagnostics), space_(space), where_(where), fixed_(fixed) {}

    std::vector<Params> read(const Node& list) {
        std::vector<Params> all;
        std::set<Params> seen;
        for (const Node& item : list.items) {
            const Fields fields(diagnostics_, &item, "start", "{lr: 0.001}");
            if (fields.node() == nullptr) continue;
            if (item.entries.empty()) {
                diagnostics_.error(item.location, "a configuration of 'start' names no parameter; leave it out");
                continue;
            }
            const auto params = configuration(item);
            if (!params) continue;
            if (seen.insert(*params).second)
                all.push_back(*params);
            else
                diagnostics_.error(item.location, "'start' contains this configuration twice");
        }
        return all;
    }

   private:
    /// Reads one configuration. Reports every error in it and returns nothing if there is one.
    std::optional<Params> configuration(const Node& item) {
        Params params;
        bool is_valid = true;
        for (const Entry& entry : item.entries) {
            const auto value = read_value(entry);
            if (value)
                params[entry.key] = *value;
            else
                is_valid = false;
        }
        for (const Entry& entry : item.entries)
            if (is_valid && !check_conditions(entry, params)) is_valid = false;
        if (is_valid) is_valid = check_expressions(item, params);
        return is_valid ? std::optional(std::move(params)) : std::nullopt;
    }

    std::optional<Value> read_value(const Entry& entry) {
        const auto& broken = space_.broken;
        if (std::find(broken.begin(), broken.end(), entry.key) != broken.end()) return std::nullopt;
        const Dimension* dimension = find_dimension(space_.space, entry.key);
        if (dimension == nullptr) {
            std::vector<std::string_view> names;
            for (const Dimension& other : space_.space) names.emplace_back(other.name);
            diagnostics_.error(entry.location, "'start' needs parameters of 'space', found '" + printable(entry.key) +
                                                   "'" + suggestion(entry.key, names));
            return std::nullopt;
        }
        const auto written = natural_value(diagnostics_, entry.value, "start." + entry.key);
        if (!written) return std::nullopt;
        auto value = held_value(*dimension, *written);
        if (!value)
            diagnostics_.error(entry.value.location, "'" + entry.key + "' is never " + printable(to_text(*written)) +
                                                         ": 'space' has " + describe(*dimension) +
                                                         "; change one of the two");
        return value;
    }

    /// Returns true if the conditions of the parameter hold in this configuration. Reports an error if not, or if the
    /// configuration leaves a parent open, since the given value might then be dropped.
    bool check_conditions(const Entry& entry, const Params& params) {
        for (const Condition& condition : find_dimension(space_.space, entry.key)->when) {
            const auto found = params.find(condition.parameter);
            const bool holds = found != params.end() && std::find(condition.any_of.begin(), condition.any_of.end(),
                                                                  found->second) != condition.any_of.end();
            if (holds) continue;
            const string rule = "'" + entry.key + "' exists only where '" + condition.parameter + "' is " +
                                choices_text(condition.any_of);
            diagnostics_.error(
                entry.location,
                rule + (found == params.end() ? ": set that too" : ", and here it is " + to_text(found->second)));
            return false;
        }
        return true;
    }

    /// Returns true if the given values break no condition of `where` and leave no dependent range empty, for any
    /// values of the other parameters. Reports an error otherwise.
    bool check_expressions(const Node& item, const Params& params) {
        if (!diagnostics_.ok()) return false;  // expressions may have errors
        const auto variables = expression::variables_of(space_.space, fixed_);
        std::vector<const Value*> values;
        for (const auto& variable : variables) {
            const auto given = params.find(variable.name);
            const auto constant = fixed_.find(variable.name);
            values.push_back(given != params.end()      ? &given->second
                             : constant != fixed_.end() ? &constant->second
                                                        : nullptr);
        }
        const auto refuse = [&](const Location& location, const string& text) {
            diagnostics_.error(location, text);
            return false;
        };
        for (const string& text : where_) {
            const auto read = expression::Expression::read(text, expression::Meaning::condition, variables);
            const auto* condition = std::get_if<expression::Expression>(&read);
            const auto truth = condition ? condition->holds(values) : expression::Truth::yes;
            if (truth == expression::Truth::no || truth == expression::Truth::undefined)
                return refuse(item.location, "this configuration of 'start' breaks 'where': " + printable(text, 200));
        }
        for (const Entry& entry : item.entries) {
            const Dimension& dimension = *find_dimension(space_.space, entry.key);
            for (const bool upper : {false, true}) {
                const string& text = upper ? dimension.high_of : dimension.low_of;
                if (text.empty()) continue;
                const auto read = expression::Expression::read(text, expression::Meaning::number, variables);
                const auto* end = std::get_if<expression::Expression>(&read);
                const auto bound = end ? end->number(values) : std::nullopt;
                const double value = number_or(params.at(entry.key), 0);
                if (bound && (upper ? value > *bound : value < *bound))
                    return refuse(entry.value.location, "'" + entry.key + "' is " + (upper ? "above " : "below ") +
                                                            printable(text, 200) + ", which is " +
                                                            exact_number(*bound) + " here: change one of the two");
            }
        }
        return true;
    }

    Diagnostics& diagnostics_;
    const ReadSpace& space_;
    const std::vector<string>& where_;
    const Params& fixed_;
};

}  // namespace

std::vector<Params> read_start(Diagnostics& diagnostics, const Node* node, const ReadSpace& space,
                               const std::vector<string>& where, const Params& fixed) {
    if (node == nullptr || node->kind == Node::Kind::null) return {};
    if (node->kind != Node::Kind::list) {
        diagnostics.error(node->location, "'start' must be a list of configurations, such as [{lr: 0.001}]");
        return {};
    }
    return StartReader(diagnostics, space, where, fixed).read(*node);
}

std::vector<string> read_warm_start(Diagnostics& diagnostics, const Node* node, const string& name) {
    std::vector<string> studies;
    if (node == nullptr || node->kind == Node::Kind::null) return studies;
    const auto add = [&](const Node& item) {
        const auto given = text(diagnostics, item, "warm_start");
        if (!given) return;
        if (*given == name)
            diagnostics.error(item.location, "a study cannot learn from itself: give it another name");
        else if (std::find(studies.begin(), studies.end(), *given) != studies.end())
            diagnostics.error(item.location, "'warm_start' contains " + printable(*given) + " twice");
        else
            studies.push_back(*given);
    };
    if (node->kind == Node::Kind::scalar) {
        add(*node);
    } else if (node->kind == Node::Kind::list) {
        for (const Node& item : node->items) add(item);
    } else {
        diagnostics.error(node->location, "'warm_start' must be a list of studies, such as [phase1]");
    }
    if (studies.size() > max_studies)
        diagnostics.error(node->location,
                          "'warm_start' contains more than " + std::to_string(max_studies) + " studies");
    return studies;
}

}  // namespace hpo::study
