#include <algorithm>
#include <cmath>
#include <map>

#include "orchestrator/study/entries.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Returns the dotted keys with their values as YAML, in the order of the file.
Pairs flatten(const Study& study) {
    Pairs pairs;
    for (const study::Group& group : study::groups_of(study))
        for (const auto& [key, text] : group.fields) {
            std::string path = group.section;
            for (const std::string& part : {group.name, key})
                if (!part.empty()) path += (path.empty() ? "" : ".") + part;
            pairs.emplace_back(std::move(path), text);
        }
    return pairs;
}

/// Returns true if a trial's first steps do not depend on the planned number of steps. Scripts are assumed to behave
/// so.
bool steps_are_independent_of_budget(const Study& study) {
    if (!study.native()) return true;
    const auto schedule = study.fixed.find("schedule");
    return schedule != study.fixed.end() && schedule->second == Value(std::string("constant"));
}

std::string refusal_of_epochs(const Study& before, const Study& after) {
    if (!steps_are_independent_of_budget(before))
        return "the learning rate's schedule depends on the epochs: trials before and after could not be compared";
    return after.budget.epochs > before.budget.epochs ? "" : "trials may have run for longer already";
}

const Dimension* find_dimension(const Study& study, const std::string& name) {
    const auto found = std::find_if(study.space.begin(), study.space.end(),
                                    [&](const Dimension& dimension) { return dimension.name == name; });
    return found == study.space.end() ? nullptr : &*found;
}

/// Returns true if `after` has all values that `before` has, on the same scale.
bool contains(const Dimension& after, const Dimension& before) {
    if (after.kind != before.kind || after.log != before.log || after.step != before.step) return false;
    if (after.low_of != before.low_of || after.high_of != before.high_of) return false;
    if (after.kind == Kind::categorical)
        return std::all_of(before.choices.begin(), before.choices.end(), [&](const Value& choice) {
            return std::find(after.choices.begin(), after.choices.end(), choice) != after.choices.end();
        });
    if (after.low > before.low || after.high < before.high) return false;
    const double steps = before.step ? (before.low - after.low) / *before.step : 0;
    return std::abs(steps - std::round(steps)) < 1e-6;
}

/// Returns true if the key is an end of a range, or a list of choices, to which values were only added. Old trials are
/// points of the new space then.
bool is_widened(const std::string& key, const Study& before, const Study& after) {
    const auto end = key.rfind('.');
    const std::string field = key.substr(end + 1);
    if (!key.starts_with("space.") || (field != "low" && field != "high" && field != "choices")) return false;
    const std::string name = key.substr(6, end - 6);
    const Dimension *old_one = find_dimension(before, name), *new_one = find_dimension(after, name);
    return old_one && new_one && contains(*new_one, *old_one);
}

std::string refusal_of(const std::string& key, const Study& before, const Study& after, bool valued) {
    if (key.starts_with("resources.") || key.starts_with("keep.") || key.starts_with("worker.environment")) return {};
    if (key == "worker.preload" || key == "worker.terminal" || key == "worker.home" || key == "worker.cwd") return {};
    if (key == "budget.epochs") return refusal_of_epochs(before, after);
    if (key.starts_with("budget.") || key == "repeats") return {};
    if (key == "where") return "the best trials so far may break it; a new study learns from them by warm_start";
    if (key == "study") return "a study with another name is another study";
    // Trials stay comparable with any sampler and any stopping rule.
    if (key.starts_with("stopping") || key.starts_with("sampler") || is_widened(key, before, after)) return {};
    const bool says_what_trials_are =
        key.starts_with("worker.") || key.starts_with("objective") || key.starts_with("constraints");
    if (says_what_trials_are && !valued) return {};
    if (key.starts_with("start.")) return "these configurations run first, and the study has begun";
    if (key == "warm_start") return "the trials so far were proposed from the earlier list of studies";
    if (key == "seed" || key.starts_with("policy.")) return "trials drawn before and after could not be compared";
    return "trials before and after could not be compared";
}

/// Returns the names of `items` in their order. The order of dimensions determines the sampler's coordinates, that of
/// rules which rule decides first.
template <class Items, class Name>
std::string order_of(const Items& items, Name&& name) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + name(item);
    return text;
}

}  // namespace

std::vector<Difference> compare(const Study& before, const Study& after, bool valued) {
    std::vector<Difference> differences;
    const Pairs old_pairs = flatten(before);
    const Pairs new_pairs = flatten(after);
    const std::map<std::string, std::string> old_texts(old_pairs.begin(), old_pairs.end());
    const std::map<std::string, std::string> new_texts(new_pairs.begin(), new_pairs.end());
    const auto differ = [&](const std::string& key, const std::string& old_text, const std::string& new_text) {
        differences.push_back({key, old_text, new_text, refusal_of(key, before, after, valued)});
    };
    for (const auto& [key, text] : old_pairs) {
        const auto found = new_texts.find(key);
        if (found == new_texts.end())
            differ(key, text, "");
        else if (found->second != text)
            differ(key, text, found->second);
    }
    for (const auto& [key, text] : new_pairs)
        if (old_texts.count(key) == 0) differ(key, "", text);

    const auto compare_order = [&](const std::string& key, const std::string& old_order, const std::string& new_order) {
        const bool is_reported = std::any_of(differences.begin(), differences.end(),
                                             [&](const Difference& d) { return d.key.starts_with(key + "."); });
        if (old_order != new_order && !is_reported) differ(key, old_order, new_order);
    };
    const auto dimension_name = [](const Dimension& dimension) { return dimension.name; };
    const auto rule_name = [](const PartSpec& rule) { return rule.type; };
    const auto goal_name = [](const Goal& goal) { return goal.metric; };
    compare_order("objective", order_of(before.objective.further, goal_name),
                  order_of(after.objective.further, goal_name));
    compare_order("space", order_of(before.space, dimension_name), order_of(after.space, dimension_name));
    compare_order("stopping", order_of(before.stopping, rule_name), order_of(after.stopping, rule_name));
    return differences;
}

std::string refusal(const std::vector<Difference>& differences) {
    std::string text;
    for (const Difference& difference : differences) {
        if (difference.refusal.empty()) continue;
        const auto side = [](const std::string& value) { return value.empty() ? "(absent)" : value; };
        text += "  " + difference.key + ": " + side(difference.before) + " -> " + side(difference.after) + " (" +
                difference.refusal + ")\n";
    }
    return text;
}

}  // namespace hpo
