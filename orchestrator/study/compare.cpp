#include <algorithm>
#include <map>

#include "orchestrator/study/entries.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Returns dotted keys with their texts, in the order of the file.
Pairs flat(const Study& study) {
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

/// Whether a trial's first steps do not depend on the planned number of steps. For scripts this is assumed.
bool same_start_for_any_budget(const Study& study) {
    if (!study.command.empty() || !has_worker(study)) return true;
    const auto schedule = study.worker.find("schedule");
    return schedule != study.worker.end() && schedule->second == Value(std::string("constant"));
}

std::string refusal_of_epochs(const Study& before, const Study& after) {
    if (!same_start_for_any_budget(before))
        return "the learning rate's schedule spans the epochs: trials before and after could not be compared";
    return after.budget.epochs > before.budget.epochs ? "" : "trials may have gone further already";
}

std::string refusal_of(const std::string& key, const Study& before, const Study& after) {
    if (key.starts_with("resources.") || key.starts_with("keep.") || key.starts_with("worker.environment")) return {};
    if (key == "worker.preload" || key == "worker.terminal" || key == "worker.home" || key == "worker.cwd") return {};
    if (key == "budget.epochs") return refusal_of_epochs(before, after);
    if (key.starts_with("budget.")) return {};
    if (key == "study") return "another name is another study";
    if (key.starts_with("stopping")) return "the decisions so far were made by the rules before";
    if (key.starts_with("start.")) return "they come first, and the study has begun";
    if (key == "warm_start") return "the trials so far were proposed with what other studies told";
    if (key.starts_with("sampler")) return "the trials so far were proposed by the sampler before";
    if (key == "seed" || key.starts_with("policy.")) return "trials drawn before and after would not belong together";
    return "trials before and after could not be compared";
}

/// Returns the names of one kind in their order, which determines the coordinates and which rule decides first.
template <class Items, class Name>
std::string order_of(const Items& items, Name&& name) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + name(item);
    return text;
}

}  // namespace

std::vector<Difference> compare(const Study& before, const Study& after) {
    std::vector<Difference> differences;
    const Pairs old_pairs = flat(before);
    const Pairs new_pairs = flat(after);
    const std::map<std::string, std::string> old_texts(old_pairs.begin(), old_pairs.end());
    const std::map<std::string, std::string> new_texts(new_pairs.begin(), new_pairs.end());
    const auto differ = [&](const std::string& key, const std::string& was, const std::string& is) {
        differences.push_back({key, was, is, refusal_of(key, before, after)});
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

    const auto order = [&](const std::string& key, const std::string& was, const std::string& is) {
        const bool told = std::any_of(differences.begin(), differences.end(),
                                      [&](const Difference& d) { return d.key.starts_with(key + "."); });
        if (was != is && !told) differ(key, was, is);
    };
    const auto dimension_name = [](const Dimension& dimension) { return dimension.name; };
    const auto rule_name = [](const PartSpec& rule) { return rule.type; };
    const auto goal_name = [](const Goal& goal) { return goal.metric; };
    order("objective", order_of(before.objective.further, goal_name), order_of(after.objective.further, goal_name));
    order("space", order_of(before.space, dimension_name), order_of(after.space, dimension_name));
    order("stopping", order_of(before.stopping, rule_name), order_of(after.stopping, rule_name));
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
