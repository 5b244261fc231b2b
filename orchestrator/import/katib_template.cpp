// Converts the trial template of Katib: the container that trains, its arguments and its environment.
#include <algorithm>

#include "orchestrator/import/arguments.hpp"
#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/katib.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using std::string;
using std::string_view;
using study::Entry;
using study::find;
using study::Node;
using study::printable;

bool runs_something(const Node& node) {
    return node.kind == Node::Kind::map && (find(node, "command") != nullptr || find(node, "args") != nullptr);
}

/// Adds everything below `node` that runs a command: containers of pods, steps of Tekton, templates of Argo, trainers.
void add_containers(const Node& node, std::vector<const Node*>& found) {
    for (const Entry& entry : node.entries) {
        const bool is_list = entry.key == "containers" || entry.key == "steps";
        for (const Node& item : entry.value.items) {
            if (is_list && (runs_something(item) || find(item, "image") != nullptr)) found.push_back(&item);
            add_containers(item, found);
        }
        if ((entry.key == "container" || entry.key == "trainer" || entry.key == "script") &&
            (runs_something(entry.value) || find(entry.value, "image") != nullptr))
            found.push_back(&entry.value);
        add_containers(entry.value, found);
    }
}

bool mentions_parameters(const Node& node) {
    return node.text.find("${trialParameters.") != string::npos ||
           node.text.find("$(trialParameters.") != string::npos ||
           std::any_of(node.items.begin(), node.items.end(), mentions_parameters) ||
           std::any_of(node.entries.begin(), node.entries.end(),
                       [](const Entry& entry) { return mentions_parameters(entry.value); });
}

class KatibTemplate {
   public:
    KatibTemplate(const Reading& reading, const Node& root, const KatibNames& names)
        : reading_(reading), builder_(reading.builder), root_(root), names_(names) {}

    void read() {
        const Node* pattern = find(*find(root_, "spec"), "trialTemplate");
        if (pattern != nullptr) spec_ = find(*pattern, "trialSpec");
        if (const Node* map = pattern == nullptr ? nullptr : find(*pattern, "configMap"))
            return reading_.error(map->location, "the trial's command is in the config map '" +
                                                     printable(text_of(find(*map, "configMapName"))) +
                                                     "', which is not here: write its " +
                                                     printable(text_of(find(*map, "templatePath"))) +
                                                     " as 'trialSpec' in place of 'configMap'");
        std::vector<const Node*> all;
        if (spec_ != nullptr) add_containers(*spec_, all);
        if (all.empty()) return no_container(pattern);
        if (const Node* list = find(*pattern, "trialParameters")) references(*list);
        container(*primary(all, text_of(find(*pattern, "primaryContainerName"))));
    }

   private:
    void no_container(const Node* pattern) {
        builder_.remark("worker", pattern == nullptr ? study::Location{} : pattern->location,
                        "there is no container with a command: replace train.py by the script");
        std::vector<string> arguments{"python3", "train.py"};
        for (const Dimension& dimension : builder_.study.space)
            arguments.push_back("--" + dimension.name + "={" + dimension.name + "}");
        builder_.script().command = std::move(arguments);
    }

    /// Returns the container with the given name. Kinds of jobs whose containers have no names of their own (Tekton
    /// puts step- before them, Argo calls them main) train in the one that has parameters.
    static const Node* primary(const std::vector<const Node*>& all, const string& name) {
        const auto first = [&](auto&& is_primary) {
            const auto found = std::find_if(all.begin(), all.end(), is_primary);
            return found == all.end() ? nullptr : *found;
        };
        const Node* found = first([&](const Node* node) {
            const string own = text_of(find(*node, "name"));
            return !own.empty() && (own == name || "step-" + own == name);
        });
        if (found == nullptr) found = first([](const Node* node) { return mentions_parameters(*node); });
        return found == nullptr ? all.front() : found;
    }

    /// Returns Katib's replacement of a reference to the trial's own description, such as ${trialSpec.Name}.
    [[nodiscard]] string own_value(string_view of) const {
        const Node* metadata = spec_ == nullptr ? nullptr : find(*spec_, "metadata");
        const auto within = [&](string_view prefix, const char* key) -> std::optional<string> {
            if (!of.starts_with(prefix) || !of.ends_with("]}")) return {};
            const Node* map = metadata == nullptr ? nullptr : find(*metadata, key);
            const string_view name = of.substr(prefix.size(), of.size() - prefix.size() - 2);
            return map == nullptr ? "" : text_of(find(*map, name));
        };
        if (of == "${trialSpec.Name}")
            return (builder_.study.name.empty() ? "trial" : builder_.study.name) + "-{trial}";
        if (of == "${trialSpec.Kind}") return without_placeholders(text_of(find(*spec_, "kind")));
        if (of == "${trialSpec.APIVersion}") return without_placeholders(text_of(find(*spec_, "apiVersion")));
        if (const auto label = within("${trialSpec.Labels[", "labels")) return without_placeholders(*label);
        if (const auto note = within("${trialSpec.Annotations[", "annotations")) return without_placeholders(*note);
        const Node* own = find(root_, "metadata");
        return own == nullptr ? "" : without_placeholders(text_of(find(*own, "namespace")));
    }

    void references(const Node& list) {
        for (const Node& item : list.items) {
            const string name = text_of(find(item, "name")), of = text_of(find(item, "reference"));
            const auto found = names_.find(of);
            if (found != names_.end())
                references_[name] = found->second;
            else if (of.starts_with("${trialSpec."))
                own_values_[name] = own_value(of);
            else if (reading_.diagnostics.ok())
                reading_.error(item.location,
                               "'" + printable(name) + "' refers to no parameter, '" + printable(of) + "'");
        }
    }

    void container(const Node& node) {
        if (const Node* list = find(node, "env")) environment(*list);
        std::vector<string> arguments;
        for (const char* key : {"command", "args"}) {
            const Node* list = find(node, key);
            if (list == nullptr) continue;
            if (list->kind != Node::Kind::list)
                return reading_.error(list->location, "'" + string(key) + "' of a container is a list of texts");
            for (const Node& item : list->items) {
                const bool shell = arguments.size() > 1 && arguments[arguments.size() - 2].ends_with("sh") &&
                                   arguments.back().starts_with('-') && arguments.back().ends_with('c');
                arguments.push_back(word(item, shell));
            }
        }
        if (find(node, "command") == nullptr) {
            builder_.remark(
                "worker", node.location,
                "the program that the image runs by default is not known here: write it before these arguments");
            arguments.insert(arguments.begin(), {"python3", "train.py"});
        }
        if (arguments.empty() || arguments.front().empty())
            return reading_.error(node.location, "the container's command is empty");
        builder_.script().command = std::move(arguments);
        if (const Node* image = find(node, "image"))
            builder_.remark("worker", image->location,
                            "the command runs on this machine as it is, not in the image " + text_of(image) +
                                ": its program and paths must be here");
        if (const Node* nodes = find(node, "numNodes"); nodes != nullptr && text_of(nodes) != "1")
            builder_.remark("worker", nodes->location, "a trial is one process here, not " + text_of(nodes) + " nodes");
        reading_.leave_out_others(
            node, {"name", "image", "imagePullPolicy", "command", "args", "env", "numNodes", "ports"}, "the container");
        for (const auto& [name, dimension] : names_)
            if (std::none_of(references_.begin(), references_.end(),
                             [&](const auto& entry) { return entry.second == dimension; }))
                builder_.remark("worker", node.location,
                                "no trialParameters refers to '" + name + "': the command does not receive it");
    }

    /// Converts ${trialParameters.lr} to {lr}, or to a variable if the argument is a shell's script, and $(NAME) to the
    /// container's variable of that name. Other braces remain text.
    string word(const Node& item, bool shell) {
        string out;
        for (string_view rest = item.text; !rest.empty();) {
            const auto at = std::min(rest.find("${trialParameters."), rest.find("$("));
            out += without_placeholders(rest.substr(0, at));
            if (at == string_view::npos) break;
            rest.remove_prefix(at);
            const bool is_parameter = rest.starts_with("${");
            const auto end = rest.find(is_parameter ? '}' : ')');
            const string_view whole = rest.substr(0, end == string_view::npos ? end : end + 1);
            if (is_parameter)
                out += parameter(string(whole.substr(18, whole.size() - 19)), end != string_view::npos, item, shell);
            else
                out += variable(whole, item);
            rest.remove_prefix(whole.size());
        }
        if (out.find("{{inputs.") != string::npos || out.find("{{steps.") != string::npos ||
            out.find("{{tasks.") != string::npos || out.find("{{workflow.") != string::npos)
            reading_.error(item.location, "'" + printable(item.text) +
                                              "' is filled in by another step of the workflow, which does not run "
                                              "here: write its value");
        return out;
    }

    string parameter(const string& name, bool closed, const Node& item, bool shell) {
        if (const auto own = own_values_.find(name); closed && own != own_values_.end()) return own->second;
        const auto found = references_.find(name);
        if (!closed || found == references_.end()) {
            if (reading_.diagnostics.ok())
                reading_.error(item.location, "no trialParameters is called '" + printable(name) + "'");
            return {};
        }
        return shell ? "${{" + script::variable_of(found->second) + "}}" : "{" + found->second + "}";
    }

    /// Returns the text for $(NAME): Kubernetes knows the container's variables, and Tekton values of other steps.
    string variable(string_view whole, const Node& item) {
        const string_view name = whole.substr(2, whole.size() - 3);
        if (const auto own = builder_.script().environment.own.find(string(name));
            own != builder_.script().environment.own.end() && own->second)
            return *own->second;
        for (const string_view step : {"params.", "tasks.", "results.", "inputs.", "context.", "trialParameters."})
            if (name.starts_with(step) && reading_.diagnostics.ok())
                reading_.error(item.location, "'" + printable(item.text) +
                                                  "' is filled in by the pipeline, which does not run here: write its "
                                                  "value, or ${trialParameters.NAME} for a parameter");
        return without_placeholders(whole);
    }

    void environment(const Node& list) {
        for (const Node& item : list.items) {
            const string name = text_of(find(item, "name"));
            const Node* value = find(item, "value");
            const bool ours = name.empty() || name.find('=') != string::npos || name.starts_with("HPO_") ||
                              name == "CUDA_VISIBLE_DEVICES";
            if (ours || value == nullptr || value->kind != Node::Kind::scalar)
                builder_.remark("worker", item.location,
                                "the variable '" + name +
                                    "' is left out: hpo sets HPO_PARAM_* for each parameter; set others in "
                                    "worker.environment");
            else
                builder_.script().environment.own[name] = word(*value, false);
        }
    }

    const Reading& reading_;
    StudyBuilder& builder_;
    const Node& root_;
    const KatibNames& names_;
    const Node* spec_ = nullptr;
    KatibNames references_;                ///< names of trialParameters, with those of parameters in the study
    std::map<string, string> own_values_;  ///< names of the others, with their values
};

}  // namespace

std::optional<double> quoted_number(const Node* node) {
    if (node == nullptr) return {};
    Node bare = *node;
    bare.plain = true;
    return number_of(bare);
}

void read_katib_template(const Reading& reading, const Node& root, const KatibNames& names) {
    KatibTemplate(reading, root, names).read();
}

}  // namespace hpo::importing
