// Warns of values that a script's study holds as texts although they look like something else, and of directions that
// contradict the names of their metrics.
#include <algorithm>

#include "orchestrator/script/syntax/metric_directions.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/study/overrides.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

string lower_case(string_view text) {
    string lower(text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return lower;
}

bool is_digits_with_underscores(string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    return text.find('_') != string_view::npos && text.front() >= '0' && text.front() <= '9' &&
           text.find_first_not_of("0123456789_.") == string_view::npos;
}

class ValueWarnings {
   public:
    ValueWarnings(Diagnostics& diagnostics, const Node& root) : diagnostics_(diagnostics) {
        if (const Node* objective = find(root, "objective")) {
            check_direction(*objective);
            for (const Node& item : objective->items) check_direction(item);
        }
        const Node* worker = find(root, "worker");
        if (worker != nullptr && find(*worker, "command") == nullptr) return;  // hpo-worker's values have known types
        const Node* space = find(root, "space");
        const Node* params = worker == nullptr ? nullptr : find(*worker, "params");
        for (const Node* map : {space, params})
            if (map != nullptr)
                for (const Entry& entry : map->entries) names_.push_back(entry.key);
        names_.insert(names_.end(), script::own_names.begin(), script::own_names.end());
        if (space != nullptr)
            for (const Entry& parameter : space->entries)
                for (const char* key : {"choices", "prior", "when"}) visit(find(parameter.value, key));
        visit(params);
        visit(find(root, "start"));
    }

   private:
    void check_direction(const Node& objective) {
        const Node *metric = find(objective, "metric"), *direction = find(objective, "direction");
        if (metric == nullptr || direction == nullptr) return;
        const script::Better better = script::better_of(metric->text);
        const bool higher = better == script::Better::higher;
        const string_view usual = higher ? "maximize" : "minimize";
        if (better == script::Better::unknown || usual == direction->text) return;
        diagnostics_.error(direction->location, "warning: '" + metric->text + "' is " +
                                                    (higher ? "minimized" : "maximized") +
                                                    ", although metrics of this name are better when they are " +
                                                    (higher ? "higher" : "lower") + ": write " + string(usual) +
                                                    " unless the opposite is meant");
    }

    void visit(const Node* node) {
        if (node == nullptr) return;
        if (node->kind == Node::Kind::scalar) value(*node);
        for (const Node& item : node->items) visit(&item);
        for (const Entry& entry : node->entries) visit(&entry.value);
    }

    void value(const Node& node) {
        const auto warn = [&](const string& message) { diagnostics_.error(node.location, "warning: " + message); };
        for (const string_view braced : script::placeholders(node.text))
            if (const auto& names = names_; std::find(names.begin(), names.end(), braced) != names.end())
                warn("the value is passed as it stands: {" + string(braced) +
                     "} is filled in 'worker.command', 'cwd', 'environment', 'metrics.file' and in templates alone");
        if (!node.plain) return;
        const string word = lower_case(node.text);
        const bool yes = word == "yes" || word == "on", no = word == "no" || word == "off";
        if (yes || no)
            warn(node.text + " is a text in YAML 1.2, which a script may take for true: write " +
                 (yes ? "true" : "false") + ", or \"" + node.text + "\" if the text is meant");
        else if (is_digits_with_underscores(node.text))
            warn(node.text + " is a text in YAML 1.2, not a number: write it without underscores, or in quotes");
    }

    Diagnostics& diagnostics_;
    std::vector<string_view> names_;
};

}  // namespace

}  // namespace hpo::study

namespace hpo {

std::string value_warnings(std::string_view text, const std::string& file_name, std::span<const std::string> set) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    study::Diagnostics errors(file_name, text), warnings(file_name, text);
    auto root = study::parse_yaml(text, 0, errors);
    if (!root) return {};
    for (const std::string& assignment : set) {
        warnings.add_option("--set " + assignment);
        study::apply_override(errors, *root, assignment);
    }
    if (!errors.ok()) return {};
    study::ValueWarnings(warnings, *root);
    return warnings.text();
}

}  // namespace hpo
